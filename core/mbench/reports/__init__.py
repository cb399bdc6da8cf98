"""Renders the summary of a run; every format shows the same numbers."""
