"""mbench's adapter for TensorFlow."""
