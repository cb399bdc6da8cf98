"""Shows on stderr what a run is doing."""
