"""Starts workers, talks to them, stops, resumes and ends them."""
