"""A small recommender in ONNX Runtime, and lies about it."""

from __future__ import annotations

import pytest
from recommenders import GraphRecommenders

pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed here")


class TestRecommenders(GraphRecommenders):
    package = "mbench_onnxruntime"
    compilers = ("all",)
