"""PaddlePaddle's own input pipeline: the pixels that it makes, and steps on them."""

from __future__ import annotations

from inputs import assert_reads_files

from mbench_paddle.plugin import PaddlePaddle


def test_pixels_are_equal_and_steps_take_them(tmp_path):
    assert_reads_files(PaddlePaddle(), tmp_path, grade="equal")
