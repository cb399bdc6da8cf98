"""mbench's adapter for JAX."""
