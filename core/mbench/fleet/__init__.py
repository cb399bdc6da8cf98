"""Turns runs of many nodes into a verdict on each: slow, wrong, missing, or not comparable."""
