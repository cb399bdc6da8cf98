"""A small Llama in PyTorch, taken apart by depth and by operator: each part runs."""

from __future__ import annotations

import pytest
from support.experiments import asked

pytest.importorskip("torch", reason="PyTorch is not installed here")

from mbench.explain.plan import plan_breakdown
from mbench.plugins.manager import Plugins
from mbench.scenarios.find import prepared, work_of
from mbench.spec.planning import plan
from mbench_pytorch.runtime import Runtime


@pytest.fixture(scope="module")
def runtime():
    return Runtime(device="cpu", threads=2)


@pytest.mark.parametrize("mode", ["decode", "prefill", "train"])
def test_each_part_of_a_decoder_runs(runtime, mode):
    wanted = {"model": ("small-llama",), "mode": (mode,), "batch_size": (1,)}
    (whole,) = plan(asked(frameworks=("torch",), wanted=wanted, threads=2), Plugins())
    parts = plan_breakdown(whole).parts
    kinds = set()
    for part in parts:
        (entry,) = part.comparison.entries
        assert entry.support.supported, entry.case
        steps = prepared(runtime, work_of(entry.case))
        steps.benchmark.load_parameters(steps.work.workload.parameters(seed=0))
        steps.run(0)
        steps.synchronize()
        left = steps.work.scenario.observe(steps)
        assert left.outputs or left.loss
        kinds.add(entry.case.model.partition("/")[0])
    assert {"op:rms_norm", "op:rotary", "op:grouped_attention", "op:swiglu", "op:linear",
            "op:embedding", "small-llama+layers", "small-llama+layers.1of2"} <= kinds  # fmt: skip
