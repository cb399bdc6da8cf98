"""Loads images from files with a framework's own input pipeline, without running steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.scenario import Evidence, Steps
from mbench.scenarios.inference import Inference

if TYPE_CHECKING:
    from mbench.contract.benchmark import Benchmark
    from mbench.contract.case import Case
    from mbench.contract.scenario import Work
    from mbench.contract.tensors import Tensors
    from mbench.contract.workload import Workload

__all__ = ["LOAD"]


class Load(Inference):
    """The model only determines the size of images and the device on which batches are placed. The
    model is proven in inference; what is timed is proven by pixels.
    """

    name = "load"
    says = "images loaded from files by the framework's own input pipeline, without steps"
    step_by_step = False
    proven_in = "inference"
    needs_files = True

    def flops(self, workload: Workload) -> float:
        return 0.0

    def read_bytes(self, workload: Workload, case: Case, *, number_bytes: int) -> int | None:
        return None

    def prepare(self, benchmark: Benchmark, work: Work) -> Steps:
        return Steps(benchmark, work, taken)

    def observe(self, steps: Steps) -> Evidence:
        return Evidence()


def taken(batch: Tensors) -> Tensors:
    """Takes a batch and does nothing with it."""
    return {}


LOAD = Load()
