"""mbench's adapter for TensorFlow 1, whose workers run on Python 3.7: so do all files here."""
