"""PyTorch's own input pipeline: its pixels, steps on them, and faults that are planted in it."""

from __future__ import annotations

import pytest
from inputs import assert_names_faults

from mbench_pytorch.plugin import PyTorch

pytest.importorskip("torch", reason="PyTorch is not installed here")


def test_pixels_are_equal_steps_take_them_and_faults_are_named(tmp_path):
    assert_names_faults(PyTorch(), tmp_path)
