"""mbench's adapter for MindSpore."""
