"""Models in Keras, one file per family."""
