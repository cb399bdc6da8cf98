"""mbench's models in JAX, one file per family."""
