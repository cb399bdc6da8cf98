"""Models in PaddlePaddle, one file per family."""
