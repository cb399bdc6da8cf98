"""A small recommender in OpenVINO, and lies about it."""

from __future__ import annotations

import pytest
from recommenders import GraphRecommenders

pytest.importorskip("openvino", reason="OpenVINO is not installed here")

from mbench.proofs.tolerances import TIMED


class TestRecommenders(GraphRecommenders):
    package = "mbench_openvino"
    compilers = ("latency",)

    def failures(self, mode, **changes):
        return super().failures(mode, precision="fp32", gate=TIMED["fp32"], **changes)
