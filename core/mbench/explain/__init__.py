"""Explains the difference of two steps: by their parts, and by the kernels that they call."""
