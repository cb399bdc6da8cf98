"""int8 in OpenVINO."""

from __future__ import annotations

import pytest
from quantized import QuantizedAlike

pytest.importorskip("openvino")

from mbench_openvino.runtime import Runtime


@pytest.fixture(scope="module")
def runtime():
    return Runtime(device="cpu", threads=2)


class TestQuantized(QuantizedAlike):
    pass
