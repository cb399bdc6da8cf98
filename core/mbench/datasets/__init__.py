"""Folders of images for input pipelines: made, and checked."""
