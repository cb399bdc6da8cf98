"""The description of PaddlePaddle, which must be right without PaddlePaddle."""

from __future__ import annotations

import pytest

from mbench_paddle.plugin import PaddlePaddle


@pytest.mark.parametrize(
    ("accelerator", "distribution"), [("cpu", "paddlepaddle"), ("cuda", "paddlepaddle-gpu")]
)
def test_requirements(accelerator, distribution):
    pinned, *others = PaddlePaddle().requirements(None, accelerator)
    assert pinned == f"{distribution}==3.3.1"
    assert others == ["numpy==2.2.6", "setuptools==80.9.0"]
    assert PaddlePaddle().requirements("3.2.0", accelerator)[0] == f"{distribution}==3.2.0"
