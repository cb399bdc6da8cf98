"""What most scenarios share: an evaluation pass, except for what each one overrides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.metric import METRICS
from mbench.contract.precision import PRECISIONS
from mbench.contract.scenario import OUTPUTS, Evidence, Steps, Work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.benchmark import Benchmark
    from mbench.contract.case import Case
    from mbench.contract.metric import Metric
    from mbench.contract.workload import Workload

__all__ = ["ScenarioBase"]


class ScenarioBase:
    """A Scenario whose author defines only what differs; see contract/scenario.py."""

    name: str
    says: str
    training = False
    updates = False
    exchanges = False
    separable = True
    builds_model = True
    proof = OUTPUTS
    step_by_step = False
    caches = False
    takes: Sequence[str] = ()
    feeds = False
    needs_files = False
    proven_in = ""
    renews = True
    metrics: Sequence[Metric] = METRICS

    def suits(self, workload: Workload) -> str:
        return ""

    def limitation(self, case: Case, workload: Workload) -> str:
        return self.suits(workload)

    def fitted(self, workload: Workload, case: Case) -> Workload:
        return workload

    def operations(self, workload: Workload, batch_size: int) -> list[str]:
        return workload.operations(batch_size, training=self.training)

    def flops(self, workload: Workload) -> float:
        """FLOPs of a sample's step."""
        return workload.flops(training=self.training)

    def masked_flops(self, workload: Workload) -> float:
        """The part of `flops` that a causal mask discards, in the same proportion in each pass."""
        masked = workload.masked_flops()
        return masked and masked * self.flops(workload) / workload.forward_flops()

    def read_bytes(self, workload: Workload, case: Case, *, number_bytes: int) -> int | None:
        """Bytes of all that a step must read from memory; None if unknown."""
        numbers = None
        if self.updates or not self.training:
            numbers = workload.step_numbers(case.batch_size, training=self.training)
        return None if numbers is None else numbers * number_bytes

    def moved_bytes(self, workload: Workload, *, number_bytes: int) -> int | None:
        """Bytes moved in a sample's step, if a number takes `number_bytes`."""
        return workload.moved_bytes(training=self.training, number_bytes=number_bytes)

    def samples_per_item(self, workload: Workload) -> int:
        """Samples in each item of a batch, such as the tokens of a sequence."""
        return workload.samples_per_item()

    def message(self, workload: Workload) -> tuple[int, float] | None:
        """Elements that devices exchange per sample, and the share of bus bandwidth."""
        return None

    def work(self, workload: Workload, case: Case) -> Work:
        precision = PRECISIONS.get(case.precision)
        number_bytes = precision.parameter_bytes if precision else 0  # the case will be refused
        message = self.message(workload)
        return Work(
            case=case,
            workload=workload,
            scenario=self,
            samples_per_item=self.samples_per_item(workload),
            flops_per_sample=self.flops(workload),
            masked_flops_per_sample=self.masked_flops(workload),
            read_bytes_per_step=self.read_bytes(workload, case, number_bytes=number_bytes),
            bytes_per_sample=self.moved_bytes(workload, number_bytes=number_bytes),
            message_bytes=message and message[0] * number_bytes,
            bus_share=message and message[1],
        )

    def prepare(self, benchmark: Benchmark, work: Work) -> Steps:
        return Steps(benchmark, work, benchmark.infer_step())

    def observe(self, steps: Steps) -> Evidence:
        return Evidence(outputs=steps.benchmark.outputs())
