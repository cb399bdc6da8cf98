"""Proves that frameworks do equal work, by evidence from the very steps that are timed."""
