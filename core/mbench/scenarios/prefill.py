"""Prefill: a whole prompt is read into a cache of keys and values; then tokens can follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from mbench.contract.metric import LATENCIES, METRICS, named_latencies
from mbench.contract.scenario import Steps
from mbench.scenarios.base import ScenarioBase
from mbench.workloads.decoder import Decoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.benchmark import Benchmark
    from mbench.contract.case import Case
    from mbench.contract.metric import Metric
    from mbench.contract.scenario import Work
    from mbench.contract.workload import Workload

__all__ = ["PREFILL", "Prefill"]

FIRST_TOKEN = named_latencies(
    LATENCIES,
    "first_token",
    "time to first token",
    says="time until a prompt's logits are available",
)


class Prefill(ScenarioBase):
    """Its outputs are those of a forward pass over the prompt, at the last position only."""

    name = "prefill"
    says = "a whole prompt, read into a cache of keys and values"
    step_by_step = True
    caches = True
    renews = False
    metrics: Sequence[Metric] = (*METRICS, *FIRST_TOKEN)
    takes: Sequence[str] = ("prompt_length",)

    def suits(self, workload: Workload) -> str:
        if isinstance(workload, Decoder):
            return ""
        return (
            f"{workload.name} has no mode {self.name}: it has no cache of keys and values; use a "
            "model that has one, such as llama-15m"
        )

    def fitted(self, workload: Workload, case: Case) -> Workload:
        """Raises ValueError for a model that does not read prompts."""
        reason = self.suits(workload)
        if reason:
            raise ValueError(reason)
        decoder = cast("Decoder", workload)
        return decoder.keeping(1, length=decoder.config.prompt_length)

    def prepare(self, benchmark: Benchmark, work: Work) -> Steps:
        return Steps(benchmark, work, benchmark.prefill_step())


PREFILL = Prefill()
