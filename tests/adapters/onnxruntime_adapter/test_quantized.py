"""int8 in ONNX Runtime."""

from __future__ import annotations

import pytest
from quantized import QuantizedAlike

pytest.importorskip("onnxruntime")

from mbench_onnxruntime.runtime import Runtime


@pytest.fixture(scope="module")
def runtime():
    return Runtime(device="cpu", threads=2)


class TestQuantized(QuantizedAlike):
    pass
