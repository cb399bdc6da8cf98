"""Models by family: a file for each, with `build` and `forward`."""
