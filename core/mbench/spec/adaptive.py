"""mbench's own protocol: cases take turns, in several sets of fresh workers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from mbench.console import counted, span
from mbench.errors import UsageError
from mbench.spec.option import asked
from mbench.spec.protocol import Protocol
from mbench.spec.values import seconds, share, switch, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MORE_SETS", "Adaptive"]

MORE_SETS = 2
"""Sets that are made after a width was first reached. Luck plays a part in reaching it, and
intervals reported at that very moment contain the truth less often than they claim. A fixed number
of additional sets corrects part of that (Simons 1968, On the cost of not knowing the variance when
making a fixed-width confidence interval for the mean); the confidence level used for such intervals
corrects the rest (stats.STOPPED_CONFIDENCE)."""

HASTE_SECONDS = 5.0
"""The shortest life of a worker, from start to end: hardly any framework warms up in less."""
COMFORT_SECONDS = 16.0
"""What the default budget gives each worker of two frameworks."""


@dataclass(frozen=True, kw_only=True)
class Adaptive(Protocol):
    """All cases of a comparison side by side; its interval is built over the sets of workers."""

    growing: ClassVar[tuple[str, ...]] = (
        "processes", "most_processes", "half_width_goal", "budget_seconds",
    )  # fmt: skip
    name: str = "adaptive"
    claims_interval: bool = field(default=True, init=False)
    side_by_side: bool = field(default=True, init=False)
    processes: int = 5
    """The number of sets of fresh workers."""
    rounds: int | None = field(
        default=None,
        metadata=asked("rounds", whole, "Blocks per worker.",
                       usual="as many as the budget allows, 3 to 30; up to 60 with --until; "
                       "explain 5"),
    )  # fmt: skip
    """Blocks per worker. None: as many as fill the budget, between fewest_rounds and most_rounds;
    if a width is the goal, as many as pay off (measure/stopping.py)."""
    builds: int = field(
        default=1,
        metadata=asked("builds", whole, "How many times each process prepares its case; its "
                       "rounds are divided among these builds."),
    )  # fmt: skip
    """How often each process prepares its case, with as many rounds each time. Another build places
    memory anew for less than a fresh process costs, but does not count as a replicate."""
    budget_seconds: float = field(
        default=160.0,
        metadata=asked("budget", seconds, "Time per comparison, such as 90s, 5m or 1h."),
    )
    """Time for one comparison, starting and warming up included."""
    block_seconds: float = field(
        default=0.25,
        metadata=asked("block", seconds, "Time per block, at least one step."),
    )
    """Time of a block between two synchronisations, which has at least one step. Blocks are short
    because a machine's noise is as large between adjacent blocks of any length, and more rounds
    average more of it away (benchmarks/turns.py)."""
    lead_seconds: float = 0.1
    """Time of untimed steps before a block, rounded to whole steps; a worker that was stopped finds
    caches cold and threads asleep."""
    half_width_goal: float | None = field(
        default=None,
        metadata=asked("until", share, "Add processes until all intervals are within plus or minus "
                       "this percentage, or the budget is spent."),
    )  # fmt: skip
    """Relative half-width of the widest interval at which measuring stops; then `processes` are the
    fewest sets and most_processes the most. None: it stops after `processes` sets."""
    most_processes: int = field(
        default=30, metadata=asked("max_processes", whole, "Maximum number of sets with --until.")
    )
    single_steps: bool = field(
        default=False,
        metadata=asked(
            "single_steps",
            switch,
            "Also time single steps in modes that time only blocks, such as training; latency "
            "metrics need this.",
            usual="where --metric needs it",
        ),
    )
    """Whether steps are also timed one by one in modes where only blocks are timed."""
    fewest_processes: int = 1
    """Sets that are always made, even if they take longer than the budget."""
    longest_warmup_seconds: float = 60.0
    """Time after which a process counts as warm, whether its steps are steady or not."""
    looked: bool = False
    """Whether sets were added after intervals had been reported, by `--resume`. Whoever looks
    before deciding to go on stops at a narrow interval, or at a winner, by luck now and then."""
    fewest_rounds: int = 3
    """The fewest rounds of a set, however small the budget is."""
    most_rounds: int = 30
    """The most rounds of a set, unless `rounds` asks for more; up to twice as many if a width is
    the goal."""

    def __post_init__(self) -> None:
        if self.half_width_goal is not None and self.most_processes < self.processes:
            raise UsageError(
                f"--max-processes {self.most_processes} is less than --processes {self.processes}"
            )
        if self.rounds is not None and self.rounds < self.builds:
            raise UsageError(f"--rounds {self.rounds} is less than --builds {self.builds}")

    @property
    def stops_by_width(self) -> bool:
        return self.half_width_goal is not None or self.looked

    def share_seconds(self, *, measured: int, elapsed_seconds: float, before: int = 0) -> float:
        """How long the next set may take: less if earlier ones took more than their share.

        The budget does not cover the sets that were made `before`.
        """
        left = (self.budget_seconds - elapsed_seconds) / max(1, self.processes - measured)
        return min(left, self.budget_seconds / max(1, self.processes - before))

    def rounds_for(
        self,
        *,
        share_seconds: float,
        setup_seconds: float,
        round_seconds: float,
        paying: float | None = None,
    ) -> int:
        """How many rounds a set of workers gets, given how long setting it up took.

        `paying` is how many are worthwhile, if known.
        """
        if self.rounds is not None:
            return self.rounds
        if paying is None:
            paying, most = (share_seconds - setup_seconds) / round_seconds, self.most_rounds
        else:
            most = 2 * self.most_rounds
        return max(self.fewest_rounds, self.builds, int(min(most, paying)))

    def estimate(self, step_seconds: Sequence[float | None]) -> tuple[float | None, str]:
        return self.budget_seconds, self.in_all(self.budget_seconds)

    def doubt(self, cases: int) -> str:
        """A budget too short for its processes would otherwise show only once they have started."""
        if self.rounds is not None:
            return ""
        workers = self.processes * cases
        hint = f"give --budget {workers * COMFORT_SECONDS:.0f}, or fewer --processes"
        said = f"a budget of {span(self.budget_seconds)} for {counted(workers, 'worker')} "
        said += f"({counted(self.processes, 'process')} of {counted(cases, 'case')})"
        least = workers * self.fewest_rounds * (self.block_seconds + self.lead_seconds)
        fewest = counted(self.fewest_rounds, "round")
        if self.budget_seconds < least:
            raise UsageError(f"{said} is too small for their {fewest}: {hint}",
                             option="--budget")  # fmt: skip
        if (each := self.budget_seconds / workers) >= HASTE_SECONDS:
            return ""
        return (
            f"{said} leaves each {each:.2g} s to start, warm up and be measured, but most "
            f"frameworks take longer: {hint}"
        )

    def in_all(self, seconds: float) -> str:
        return f"{'about' if self.fewest_processes > 1 else 'at most'} {span(seconds)}"
