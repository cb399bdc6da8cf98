"""mbench's models in MegEngine, one file per family."""
