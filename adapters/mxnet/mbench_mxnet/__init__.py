"""mbench's adapter for MXNet."""
