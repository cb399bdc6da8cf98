"""Models in Gluon, one file per family."""
