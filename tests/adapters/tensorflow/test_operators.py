"""Operators in TensorFlow."""

from __future__ import annotations

import pytest
from operators import OperatorsAlike

pytest.importorskip("tensorflow", reason="TensorFlow is not installed here")


class TestOperators(OperatorsAlike):
    compilers = ("graph", "eager")
    slow = ("xla",)
