"""mbench's adapters for Keras 3, one for each of its backends that train."""
