"""The neutral facts of every model: shapes, canonical parameters, data, FLOPs, optimizer."""
