"""A training step of a model: forward pass, backward pass and the optimizer's update."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.scenario import UPDATES, Evidence, Steps
from mbench.scenarios.base import ScenarioBase
from mbench.workloads.operators.operator import Operator

if TYPE_CHECKING:
    from mbench.contract.benchmark import Benchmark
    from mbench.contract.scenario import Work
    from mbench.contract.workload import Workload

__all__ = ["TRAIN"]


class Train(ScenarioBase):
    name = "train"
    says = "a forward pass, a backward pass and the optimizer's update"
    training = True
    updates = True
    exchanges = True
    proof = UPDATES
    feeds = True

    def suits(self, workload: Workload) -> str:
        return "operators are not models" if isinstance(workload, Operator) else ""

    def prepare(self, benchmark: Benchmark, work: Work) -> Steps:
        return Steps(benchmark, work, benchmark.train_step())

    def observe(self, steps: Steps) -> Evidence:
        return Evidence(loss=steps.benchmark.loss())


TRAIN = Train()
