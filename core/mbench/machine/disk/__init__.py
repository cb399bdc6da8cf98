"""Measures a disk with fio, in interleaved rounds."""
