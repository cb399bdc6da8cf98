"""Models in TensorFlow 1's operations, one file per family."""
