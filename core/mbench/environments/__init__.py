"""Finds or builds the interpreter in which a framework lives."""
