"""Finds plugins, guards against what they do wrong, and registers the built-in ones."""
