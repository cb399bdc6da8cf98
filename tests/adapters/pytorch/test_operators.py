"""Operators in PyTorch."""

from __future__ import annotations

import pytest
from operators import OperatorsAlike

pytest.importorskip("torch", reason="PyTorch is not installed here")

from mbench_pytorch.runtime import Runtime


@pytest.fixture(scope="module")
def runtime():
    return Runtime(device="cpu", threads=2)


class TestOperators(OperatorsAlike):
    compilers = ("eager",)
    slow = ("inductor",)
