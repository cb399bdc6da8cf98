"""mbench's adapter for tinygrad."""
