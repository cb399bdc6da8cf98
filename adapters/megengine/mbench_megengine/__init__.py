"""mbench's adapter for MegEngine, whose workers run on Python 3.8 to 3.10: so do all files here."""
