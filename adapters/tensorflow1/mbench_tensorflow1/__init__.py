"""mbench's adapter for TensorFlow 1. Its workers run on Python 3.7, so all files here must too."""
