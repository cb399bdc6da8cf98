"""What every protocol defines: the number of processes, limits, and what its figures claim."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from mbench.spec.option import asked
from mbench.spec.values import count, text, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Protocol"]


@dataclass(frozen=True, kw_only=True)
class Protocol(ABC):
    """A way to measure. Its fields are stored in the run, whose figures follow from them."""

    growing: ClassVar[tuple[str, ...]] = ()
    """Constants that may be increased when a run is resumed."""
    name: str
    """Its name: `adaptive`, `dlperf`, `superbench`, `nvidia`; `train` for training runs."""
    processes: int = field(
        metadata=asked(
            "processes", whole, "Sets of fresh worker processes; the interval is built over them."
        )
    )
    """Fresh processes of each case: the unit of replication."""
    claims_interval: bool
    """Whether its processes are replicates for an interval, and its ratios have a verdict."""
    side_by_side: bool
    """Whether the workers of a comparison live at the same time, and share the memory."""
    percentiles_by_epoch: bool = False
    """Whether percentiles are averages of each epoch's, rather than those of all single steps."""
    seed: int = field(
        default=0,
        metadata=asked("seed", count, "Seed of weights, first batches and the order of turns; "
                       "timed batches are drawn anew."),
    )  # fmt: skip

    metric: str = field(
        default="",
        metadata=asked(
            "metric",
            text,
            "What ratios and verdicts are about: throughput, latency_mean, latency_p50 and other "
            "percentiles, joules_per_sample.",
            usual="the first of each mode",
        ),
    )
    """What its verdicts are about, by name; empty: the first metric of each mode."""

    @property
    def stops_by_width(self) -> bool:
        """Whether the intervals seen so far decide when measuring stops."""
        return False

    @abstractmethod
    def estimate(self, step_seconds: Sequence[float | None]) -> tuple[float | None, str]:
        """How long a comparison takes, in seconds (None if unknown) and in words.

        `step_seconds` are those of its cases, as far as known from earlier runs.
        """

    def doubt(self, cases: int) -> str:
        """Why a comparison of this many cases may fail; empty if there is no sign of that.

        Raises UsageError if it is certain to fail.
        """
        return ""

    @abstractmethod
    def in_all(self, seconds: float) -> str:
        """How long several comparisons take, in words; their estimates add up to `seconds`."""
