"""Models by family: a file for each, with `build`, `forward` and `loss`."""
