"""Two processes that train one model together, by MultiWorkerMirroredStrategy."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow", reason="TensorFlow is not installed here")

from ranks import RanksAlike, case


class TestRanks(RanksAlike):
    runtime_name = "mbench_tensorflow.runtime:Runtime"
    compilers = ("eager", "graph")

    @classmethod
    def cases(cls, **changes):
        """As graphs, which is usual; one process alone, in which a graph does not pay, is eager."""
        return [case(model, compiler="graph", **changes) for model in cls.models]
