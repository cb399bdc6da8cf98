"""PaddlePaddle's own models, one file per family."""
