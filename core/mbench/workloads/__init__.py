"""Framework-neutral facts of all models: shapes, canonical parameters, data, FLOPs, optimizer."""
