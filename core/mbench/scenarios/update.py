"""Updates of parameters by the optimizer alone, whose gradients are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.scenario import RULE, Evidence, Steps
from mbench.scenarios.operator import Calls
from mbench.workloads.operators.updates import PRECISIONS, Updated

if TYPE_CHECKING:
    from mbench.contract.benchmark import Benchmark
    from mbench.contract.case import Case
    from mbench.contract.scenario import Work
    from mbench.contract.workload import Workload

__all__ = ["UPDATE"]


class Update(Calls):
    name = "train"
    says = "the optimizer's update alone, with given gradients"
    training = True
    updates = True
    step_by_step = False
    proof = RULE
    renews = False

    def suits(self, workload: Workload) -> str:
        return "" if isinstance(workload, Updated) else f"{workload.name} has no separate update"

    def limitation(self, case: Case, workload: Workload) -> str:
        reason = self.suits(workload)
        if reason:
            return reason
        if case.devices > 1:
            return f"{workload.name} runs on one device: no gradients are exchanged"
        if case.precision not in PRECISIONS:
            known = ", ".join(PRECISIONS)
            return (
                f"{workload.name} has no matrix products that {case.precision} could change; "
                f"available: {known}"
            )
        return ""

    def prepare(self, benchmark: Benchmark, work: Work) -> Steps:
        return Steps(benchmark, work, benchmark.update_step())

    def observe(self, steps: Steps) -> Evidence:
        """The loss is the sum of gradient times parameter after the step, over the thinned numbers
        of each tensor.
        """
        import numpy as np

        from mbench.contract.sketch import thinned

        benchmark = steps.benchmark
        gradients = benchmark.placed_batches[benchmark.at]
        found = 0.0
        for name, array in benchmark.parameters():
            pair = (array, benchmark.to_numpy(gradients[name]))
            found += float(np.dot(*(thinned(one).astype(float) for one in pair)))
        return Evidence(loss=found)


UPDATE = Update()
