"""What adapter authors build on: base classes with defaults, and code that frameworks share."""
