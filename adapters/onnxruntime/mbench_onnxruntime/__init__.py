"""ONNX Runtime's adapter for mbench."""
