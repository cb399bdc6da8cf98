"""mbench's models as ONNX graphs, one file per family."""
