"""Suites: what to measure, written down in TOML, ours beside this file."""
