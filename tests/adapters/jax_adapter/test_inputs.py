"""JAX's own input pipeline: the pixels that it makes, and steps on them."""

from __future__ import annotations

import pytest
from inputs import assert_reads_files

from mbench_jax.plugin import Jax

pytest.importorskip("grain", reason="Grain is not installed here")


def test_pixels_are_equal_and_steps_take_them(tmp_path):
    assert_reads_files(Jax(), tmp_path, grade="equal")
