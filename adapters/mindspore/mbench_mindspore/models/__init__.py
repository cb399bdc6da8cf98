"""mbench's models in MindSpore, one file per family."""
