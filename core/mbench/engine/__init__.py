"""Starts workers, talks to them, stops, wakes and ends them."""
