"""Adapters of honest frameworks in which the blocks of one stage do additional work."""
