"""Native Gluon models, one file per family."""
