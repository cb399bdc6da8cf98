"""A model of one's own: what it is, its fingerprint, and its file for PyTorch."""
