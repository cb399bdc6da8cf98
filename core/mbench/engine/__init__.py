"""Starts workers, talks with them, stops, wakes and ends them."""
