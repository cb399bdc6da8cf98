"""mbench's models as ONNX graphs, one module a family."""
