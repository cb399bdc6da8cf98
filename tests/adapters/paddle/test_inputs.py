"""PaddlePaddle's own input pipeline: its pixels, steps on them, and faults planted in it."""

from __future__ import annotations

from inputs import assert_names_faults

from mbench_paddle.plugin import PaddlePaddle


def test_pixels_are_equal_steps_take_them_and_faults_are_named(tmp_path):
    assert_names_faults(PaddlePaddle(), tmp_path)
