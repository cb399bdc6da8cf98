"""mbench's adapter for PaddlePaddle."""
