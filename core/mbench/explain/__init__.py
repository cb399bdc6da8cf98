"""Learns which kernels a framework really calls, from the words of the libraries themselves."""
