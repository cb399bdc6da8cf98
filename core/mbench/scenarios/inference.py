"""A forward pass of a model in evaluation mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.scenarios.base import ScenarioBase
from mbench.workloads.operators.operator import Operator

if TYPE_CHECKING:
    from mbench.contract.workload import Workload

__all__ = ["INFERENCE"]


class Inference(ScenarioBase):
    name = "inference"
    says = "a forward pass in evaluation mode"
    step_by_step = True
    feeds = True

    def suits(self, workload: Workload) -> str:
        return "operators are not models" if isinstance(workload, Operator) else ""


INFERENCE = Inference()
