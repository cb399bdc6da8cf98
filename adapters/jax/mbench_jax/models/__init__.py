"""mbench's models in JAX, a file per family."""
