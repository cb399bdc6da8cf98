"""SuperBench's rule, result and baseline files: read as data, never run, and written."""
