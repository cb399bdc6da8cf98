"""Collectives of two processes in PyTorch."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed here")

from collectives import NAMES, CollectivesAlike


class TestCollectives(CollectivesAlike):
    runtime_name = "mbench_pytorch.runtime:Runtime"
    compiler = "eager"
    title = "PyTorch"
    has = tuple(NAMES)
