"""What a worker is asked to do with a model: the interface of scenarios, and what they exchange."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import TYPE_CHECKING

from mbench.contract.compat import Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np

    from mbench.contract.benchmark import Benchmark, Call
    from mbench.contract.case import Case
    from mbench.contract.metric import Metric
    from mbench.contract.workload import Workload

__all__ = ["GRADIENTS", "LOSS", "OUTPUTS", "RANKS", "RULE", "UPDATES", "Evidence", "Scenario",
           "Steps", "Work"]  # fmt: skip

OUTPUTS = "outputs"
"""A way to prove a scenario, by what its steps leave: the outputs of an evaluation pass."""
UPDATES = "updates"
"""Proof by a loss, and parameters that were updated by its gradients."""
LOSS = "loss"
"""Proof by the loss of a training step."""
GRADIENTS = "gradients"
"""Proof by the loss of a training step, and its gradients with respect to all parameters."""
RULE = "rule"
"""Proof by parameters that were updated by given gradients."""
RANKS = "ranks"
"""Proof by outputs of each rank, which are whole numbers and right to the last bit."""


@dataclass(frozen=True, kw_only=True)
class Work:
    """What a case asks of a framework."""

    case: Case
    workload: Workload
    """The model at this case's sizes, with its optimizer."""
    scenario: Scenario
    parts: int = 0
    """See `ProofWork.parts`."""
    samples_per_item: int = 1
    """Samples in each item of a batch: the tokens of a sequence, if those are counted."""
    flops_per_sample: float = 0.0
    """FLOPs of an item's step: two per multiply-add of matrix products only."""
    masked_flops_per_sample: float = 0.0
    """The part of those FLOPs that a causal mask discards."""
    read_bytes_per_step: int | None = None
    """Bytes of weights and cache that a step must read on each device; None except for `decode`."""
    bytes_per_sample: int | None = None
    """Bytes that a sample's step must read and write at least; None if unknown."""
    message_bytes: int | None = None
    """Bytes that devices exchange per sample, as algorithm bandwidth counts them. None unless an
    exchange is timed."""
    bus_share: float | None = None
    """Ratio of bus bandwidth to algorithm bandwidth. None unless an exchange is timed."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What the last step left and is judged by; names and layouts are canonical."""

    loss: float | None = None
    outputs: Mapping[str, np.ndarray] = field(default_factory=dict)


class Steps:
    """The steps of a prepared case, as a worker times them."""

    def __init__(
        self,
        benchmark: Benchmark,
        work: Work,
        call: Call,
        *,
        marks: Sequence[str] = (),
    ) -> None:
        """`call` is called with each step's batch. What it returns is kept for the evidence.

        `marks` name moments within a step: each `call` calls `mark` once for each, in their order.
        """
        benchmark.call = call
        self.benchmark = benchmark
        self.work = work
        self.run: Callable[[int], None] = self._marked if marks else benchmark.step
        """Enqueue a step on the batch with that number."""
        self.synchronize: Callable[[], None] = benchmark.synchronize
        """Wait until all enqueued work is done."""
        self.batches: int = benchmark.batches
        self._marks = marks
        self._instants: list[int] = []

    def _marked(self, at: int) -> None:
        self._instants.append(perf_counter_ns())
        self.benchmark.step(at)

    def mark(self) -> None:
        """Wait for all enqueued work, and note when it was done."""
        self.synchronize()
        self._instants.append(perf_counter_ns())

    def marked(self, count: int) -> dict[str, list[int]]:
        """When each mark was reached in the last `count` steps, in nanoseconds from the step's
        beginning. All marks are then forgotten.
        """
        width = 1 + len(self._marks)
        last, self._instants = self._instants[-count * width :], []
        return {
            name: [last[step * width + at] - last[step * width] for step in range(count)]
            for at, name in enumerate(self._marks, start=1)
        }


class Scenario(Protocol):
    """A kind of work. Its module runs in workers too: standard library and NumPy, Python 3.7."""

    name: str
    """What `--mode` takes."""
    says: str
    """What a step is, as part of a sentence."""
    training: bool
    """Whether the model is in training mode: with dropout and batch statistics."""
    updates: bool
    """Whether steps change parameters."""
    exchanges: bool
    """Whether processes that share a case wait for each other in each step."""
    separable: bool
    """Whether a batch can be split into samples."""
    builds_model: bool
    """Whether there is a model; without one, steps only move arrays."""
    proof: str
    """How it is proven, by what its steps leave: OUTPUTS, UPDATES and so on."""
    step_by_step: bool
    """Whether steps are timed one by one too, for the percentiles of their latency."""
    caches: bool
    """Whether steps fill or use a cache of keys and values, which an adapter may not have."""
    takes: Sequence[str]
    """Model sizes that only this mode uses: "prompt_length"."""
    feeds: bool
    """Whether steps may get images from files, see contract/feed.py."""
    needs_files: bool
    """Whether steps do nothing but take such images."""
    proven_in: str
    """The mode in which its model is proven; empty: this one."""
    renews: bool
    """Whether each block's batches get new contents; otherwise the same ones recur in turn."""
    metrics: Sequence[Metric]
    """What is counted, see contract/metric.py; verdicts are about the first."""

    def suits(self, workload: Workload) -> str:
        """Why a model has no such work, in words for users; empty if it has."""

    def limitation(self, case: Case, workload: Workload) -> str:
        """Why no framework can run a case; empty if one could."""

    def fitted(self, workload: Workload, case: Case) -> Workload:
        """The workload as steps need it, if its tensors or data depend on more than sizes.

        Raises ValueError if that is not possible.
        """

    def samples_per_item(self, workload: Workload) -> int:
        """Samples in each item of a batch: the tokens of a sequence, where those are counted."""

    def operations(self, workload: Workload, batch_size: int) -> list[str]:
        """The operators of a step, as listed by `Workload.operations`; `workload` is the fitted
        one.
        """

    def work(self, workload: Workload, case: Case) -> Work:
        """What a case asks of a framework; `workload` is the fitted one."""

    def prepare(self, benchmark: Benchmark, work: Work) -> Steps:
        """Compile what a step runs, in the worker. Raises Unsupported if the adapter has no such
        step.
        """

    def observe(self, steps: Steps) -> Evidence:
        """What the last step left. Runs in the worker, untimed."""
