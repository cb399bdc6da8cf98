"""The tables that the field publishes, made of a run's document."""
