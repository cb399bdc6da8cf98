"""Explains the difference between two steps: by their parts, and by the kernels that they call."""
