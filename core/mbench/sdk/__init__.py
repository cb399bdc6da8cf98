"""What authors of adapters stand on: base classes with defaults, and what frameworks share."""
