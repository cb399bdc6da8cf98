"""Finds plugins, guards against their errors, and registers the built-in ones."""
