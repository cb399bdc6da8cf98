"""Examines whether this machine is fit to measure on, and says what to mend."""
