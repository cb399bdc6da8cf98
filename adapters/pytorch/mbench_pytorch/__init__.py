"""mbench's adapter for PyTorch."""
