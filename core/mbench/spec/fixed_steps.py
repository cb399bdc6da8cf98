"""Published protocols: counted steps, one case after the other, each process on its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mbench.console import counted, span
from mbench.errors import UsageError
from mbench.spec.option import asked
from mbench.spec.protocol import Protocol
from mbench.spec.values import count, seconds, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Counted"]


@dataclass(frozen=True, kw_only=True)
class Counted(Protocol):
    """Drift of the machine is part of the result, so there is no interval and no verdict."""

    claims_interval: bool = field(default=False, init=False)
    side_by_side: bool = field(default=False, init=False)
    processes: int = 1
    warmup_steps: int = field(
        default=0, metadata=asked("warmup_steps", whole, "Untimed steps before the timed ones.")
    )
    """Steps that are not counted, the first one among them."""
    steps: int = field(metadata=asked("steps", whole, "Timed steps per epoch."))
    """Timed steps of one epoch."""
    epochs: int = field(
        default=1,
        metadata=asked("epochs", whole, "Epochs of --steps each, warm-up epochs included."),
    )
    """Epochs of a process; the first warmup_epochs of them are not counted."""
    warmup_epochs: int = field(
        default=0,
        metadata=asked("warmup_epochs", count, "Untimed epochs."),
    )
    duration_seconds: float | None = field(
        default=None,
        metadata=asked("duration", seconds, "End an epoch after this time, even if steps "
                       "are left."),
    )  # fmt: skip
    """Time after which an epoch of counted steps ends at the latest; None: no limit."""
    step_by_step: tuple[str, ...] = ()
    """Modes whose counted steps are synchronised and timed one by one."""

    def __post_init__(self) -> None:
        if self.warmup_epochs >= self.epochs:
            raise UsageError(
                f"{self.warmup_epochs} warm-up epochs out of {self.epochs} leave none to time; "
                "give a larger --epochs or a smaller --warmup-epochs"
            )

    @property
    def steps_before(self) -> int:
        """All steps that are not counted: at least one, as the first is reported separately."""
        return max(1, self.warmup_steps + self.warmup_epochs * self.steps)

    @property
    def counted_epochs(self) -> int:
        return self.epochs - self.warmup_epochs

    def estimate(self, step_seconds: Sequence[float | None]) -> tuple[float | None, str]:
        total = 0.0
        for step in step_seconds:
            if step is None and self.duration_seconds is None:
                return None, "unknown: no earlier run shows how long a step takes"
            timed = self.steps * (step or 0.0)
            if self.duration_seconds is not None:
                timed = min(timed or self.duration_seconds, self.duration_seconds)
            total += self.steps_before * (step or 0.0) + self.counted_epochs * timed
        total *= self.processes
        workers = self.processes * len(step_seconds)
        starting = counted(workers, "worker")
        return total, f"{self.in_all(total)}, plus the start of {starting}"

    def in_all(self, seconds: float) -> str:
        return f"about {span(seconds)}"
