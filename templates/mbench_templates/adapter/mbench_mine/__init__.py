"""mbench's adapter for Mine."""
