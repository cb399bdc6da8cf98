"""Operators in JAX."""

from __future__ import annotations

import pytest
from operators import OperatorsAlike

pytest.importorskip("jaxlib", reason="JAX is not installed here")


class TestOperators(OperatorsAlike):
    compilers = ("jit", "eager")
