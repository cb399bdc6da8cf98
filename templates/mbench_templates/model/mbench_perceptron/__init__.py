"""A model of one's own: what it is, its reference file, and its file for PyTorch."""
