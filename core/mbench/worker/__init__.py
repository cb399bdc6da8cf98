"""The worker's side: one framework in one process; standard library and NumPy only."""
