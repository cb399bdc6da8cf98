"""Measures a disk with fio: in interleaved rounds, on a file that leaves nothing behind."""
