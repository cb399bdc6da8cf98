"""The parts of cuda.py: steps, the time that they get, what they found, and the page about it."""
