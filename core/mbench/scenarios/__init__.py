"""What workers are asked to do with models: a file for each kind of work."""
