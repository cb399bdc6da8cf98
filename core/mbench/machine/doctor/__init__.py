"""Checks whether this machine is fit for measurements, and how to improve it."""
