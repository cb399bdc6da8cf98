"""Runs on disk: raw values, written as they come, and the statistics computed on reading."""
