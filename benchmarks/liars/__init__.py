"""Adapters that do other work where they are timed than where they are proven: one lie each."""
