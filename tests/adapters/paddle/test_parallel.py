"""Two processes that train one model together, by paddle.DataParallel."""

from __future__ import annotations

import pytest

pytest.importorskip("paddle", reason="PaddlePaddle is not installed here")

from ranks import RanksAlike, case


class TestRanks(RanksAlike):
    runtime_name = "mbench_paddle.runtime:Runtime"
    compilers = ("eager", "static")

    @classmethod
    def cases(cls, **changes):
        """The ResNet is ResNet-18: paddle.vision has none that is smaller."""
        known = (("resnet18", "eager"), ("bert", "eager"), ("bert", "static"))
        return [case(model, compiler=compiler, **changes) for model, compiler in known]
