"""The phases of a training step: the forward pass with its loss, and both passes.

A backward pass also outputs the unclipped gradients of all parameters. Nothing is updated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.precision import PRECISIONS
from mbench.contract.scenario import GRADIENTS, LOSS, Steps
from mbench.contract.workload import NO_OPTIMIZER
from mbench.scenarios.base import ScenarioBase
from mbench.workloads.operators.operator import Operator

if TYPE_CHECKING:
    from mbench.contract.benchmark import Benchmark
    from mbench.contract.case import Case
    from mbench.contract.scenario import Work
    from mbench.contract.workload import Workload

__all__ = ["BACKWARD", "FORWARD"]


class Forward(ScenarioBase):
    name = "forward"
    says = "the forward pass of a training step, with its loss"
    training = True
    proof = LOSS

    def suits(self, workload: Workload) -> str:
        if isinstance(workload, Operator):
            return f"{workload.name} has no phases: use --mode train"
        return ""

    def limitation(self, case: Case, workload: Workload) -> str:
        reason = self.suits(workload)
        if reason:
            return reason
        if case.devices > 1:
            return "phases of a training step are measured on one device only: use --scale 1x1"
        precision = PRECISIONS.get(case.precision)
        if precision and precision.scales_loss:
            return (
                f"phases of a training step are not measured in {case.precision}, which scales "
                "the loss"
            )
        return ""

    def fitted(self, workload: Workload, case: Case) -> Workload:
        return workload.replace(optimizer=NO_OPTIMIZER)

    def flops(self, workload: Workload) -> float:
        return workload.flops(training=False)

    def prepare(self, benchmark: Benchmark, work: Work) -> Steps:
        return Steps(benchmark, work, benchmark.phase_step(backward=False))


class Backward(Forward):
    name = "backward"
    says = "the forward and the backward pass of a training step"
    proof = GRADIENTS

    def flops(self, workload: Workload) -> float:
        return workload.flops(training=True)

    def prepare(self, benchmark: Benchmark, work: Work) -> Steps:
        return Steps(benchmark, work, benchmark.phase_step(backward=True))


FORWARD, BACKWARD = Forward(), Backward()
