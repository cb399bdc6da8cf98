"""Calls of an operator: their outputs in inference, and also their gradients in training."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, cast

from mbench.contract.scenario import Steps
from mbench.scenarios.base import ScenarioBase
from mbench.workloads.operators.collectives import Together
from mbench.workloads.operators.operator import Operator
from mbench.workloads.operators.pointwise import Copy
from mbench.workloads.operators.updates import Updated

if TYPE_CHECKING:
    from mbench.contract.benchmark import Benchmark
    from mbench.contract.case import Case
    from mbench.contract.scenario import Work
    from mbench.contract.workload import Workload

__all__ = ["CALLS", "GRADIENTS", "Calls"]


class Calls(ScenarioBase):
    """A batch is a number of calls; the model cannot run on a part of it."""

    name = "inference"
    says = "calls of an operator"
    separable = False
    step_by_step = True

    def suits(self, workload: Workload) -> str:
        if isinstance(workload, Updated):
            return f"{workload.name} only updates: use --mode train"
        return "" if isinstance(workload, Operator) else f"{workload.name} is not an operator"

    def fitted(self, workload: Workload, case: Case) -> Workload:
        operator = cast("Operator", workload)
        operator.config.check()
        config = dataclasses.replace(
            operator.config, calls=case.batch_size, gradients=self.training
        )
        return dataclasses.replace(operator, config=config)


class Gradients(Calls):
    """The gradients of all operands, for given directions. They do not update anything."""

    name = "train"
    says = "calls of an operator, and the gradients with respect to all its operands"
    training = True
    step_by_step = False

    def suits(self, workload: Workload) -> str:
        if not isinstance(workload, Operator):
            return f"{workload.name} is not an operator"
        if isinstance(workload, Together) or isinstance(workload.config, Copy):
            return f"{workload.name} has no gradients: use --mode inference"
        return ""

    def limitation(self, case: Case, workload: Workload) -> str:
        reason = self.suits(workload)
        if reason or case.devices == 1:
            return reason
        return f"{workload.name} runs on one device: it updates nothing that devices could share"

    def prepare(self, benchmark: Benchmark, work: Work) -> Steps:
        return Steps(benchmark, work, benchmark.gradient_step())


CALLS, GRADIENTS = Calls(), Gradients()
