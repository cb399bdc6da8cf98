"""int8 in PyTorch."""

from __future__ import annotations

import pytest
from quantized import QuantizedAlike

pytest.importorskip("torch", reason="PyTorch is not installed here")

from mbench_pytorch.runtime import Runtime


@pytest.fixture(scope="module")
def runtime():
    return Runtime(device="cpu", threads=2)


class TestQuantized(QuantizedAlike):
    pass
