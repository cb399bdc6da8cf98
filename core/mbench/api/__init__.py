"""The Python interface: the commands as functions, and what they return."""
