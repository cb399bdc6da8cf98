"""Learns which kernels a framework really calls, as its libraries or its own profiler tell."""
