"""One file per command: its options beside its handler, which parses, calls and prints."""
