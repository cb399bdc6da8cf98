"""Copies between NumPy's memory and the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.scenario import Steps
from mbench.scenarios.operator import Calls
from mbench.workloads.operators.operator import Operator
from mbench.workloads.operators.pointwise import Copy, ToDevice

if TYPE_CHECKING:
    from mbench.contract.benchmark import Benchmark
    from mbench.contract.scenario import Work
    from mbench.contract.workload import Workload

__all__ = ["COPIES"]


class Copies(Calls):
    says = "copies between host and device"
    builds_model = False

    def suits(self, workload: Workload) -> str:
        copies = isinstance(workload, Operator) and isinstance(workload.config, Copy)
        return "" if copies else f"{workload.name} copies nothing"

    def prepare(self, benchmark: Benchmark, work: Work) -> Steps:
        to_device = isinstance(work.workload.config, ToDevice)
        return Steps(benchmark, work, benchmark.copy_step(to_device=to_device))


COPIES = Copies()
