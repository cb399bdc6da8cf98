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
        """Ranks run graphs, as is usual; one process alone is eager: a graph does not pay there."""
        return [case(model, compiler="graph", **changes) for model in cls.models]
