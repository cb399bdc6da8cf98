"""Training runs: which task, on which data, with how many seeds, and the options for these."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from mbench.spec.option import Option
from mbench.spec.protocol import Protocol
from mbench.spec.values import text, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DATA", "SEEDS", "TASK", "TRAIN", "Learning"]

TRAIN = "train"
"""The name of this protocol."""
TASK = Option(
    name="task", read=text, metavar="NAME|FILE",
    says="What to train: a task that mbench list tasks shows, or a .toml file such as mbench new "
    "task NAME writes.",
)  # fmt: skip
SEEDS = Option(
    name="seeds", read=whole, default="as many as the task's power needs",
    says="Training runs of each framework, with the seeds 0, 1, ...",
)  # fmt: skip
DATA = Option(
    name="data", read=text, metavar="PATH",
    says="Folder or file of data, for tasks that do not generate it.",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Learning(Protocol):
    """Frameworks train on a task, one computing at a time; each seed has fresh processes."""

    growing: ClassVar[tuple[str, ...]] = ("processes",)
    name: str = TRAIN
    processes: int = 1
    """The number of seeds."""
    claims_interval: bool = field(default=True, init=False)
    side_by_side: bool = field(default=True, init=False)
    task: str = ""
    """The name of one of mbench's tasks, or the path of another task's file."""
    data: str = ""
    """The user's data folder or file; empty if the task has its own data."""

    def estimate(self, step_seconds: Sequence[float | None]) -> tuple[float | None, str]:
        return None, "unknown until the task's first steps are timed"

    def in_all(self, seconds: float) -> str:
        return ""
