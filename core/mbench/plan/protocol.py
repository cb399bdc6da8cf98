"""The constants by which cases are measured: mbench's own protocol, and published ones."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from mbench.errors import UsageError
from mbench.plugins import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OPTIONS", "PRESETS", "Counted", "Protocol", "choose"]


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """mbench's own: all cases of a comparison take turns, in several sets of fresh workers.

    processes: sets of fresh workers; the unit of replication, so the interval is built over them.
    rounds: blocks per worker; None fills the budget, between fewest_rounds and most_rounds, or
        where a width is the goal, is as many as pay (harness/effort.py).
    budget_seconds: of one comparison, starting and warming up included.
    block_seconds: length of a block between two synchronisations, at least one step. Short, for
        a machine's noise is as large between adjacent blocks of any length, and more rounds
        average more of it away (benchmarks/turns.py).
    lead_seconds: of untimed steps before a block, if that makes a step; a worker that was stopped
        finds caches cold and threads asleep.
    half_width_goal: relative half-width of the widest interval at which measuring stops; then
        `processes` are the fewest sets and most_processes the most. None: `processes` it is.
    timeout_seconds: longest wait for any one answer of a worker.
    memory_limit_bytes: most memory of a worker on the CPU; None: nearly all that is free.
    """

    name: str = "adaptive"
    processes: int = 5
    rounds: int | None = None
    budget_seconds: float = 160.0
    block_seconds: float = 0.25
    lead_seconds: float = 0.1
    half_width_goal: float | None = None
    most_processes: int = 30
    timeout_seconds: float = 900.0
    memory_limit_bytes: int | None = None
    seed: int = 0
    fewest_rounds: int = 3
    most_rounds: int = 30

    def __post_init__(self) -> None:
        if self.half_width_goal is not None and self.most_processes < self.processes:
            raise UsageError(
                f"--max-processes {self.most_processes} is less than --processes {self.processes}"
            )

    def rounds_for(
        self, *, setup_seconds: float, round_seconds: float, paying: float | None = None
    ) -> int:
        """How many rounds a set of workers gets, given what setting it up took.

        `paying` is how many are worth it, where that is known.
        """
        if self.rounds is not None:
            return self.rounds
        if paying is None:
            wanted, most = self.budget_seconds / self.processes - setup_seconds, self.most_rounds
            paying = wanted / round_seconds
        else:
            most = 2 * self.most_rounds
        return max(self.fewest_rounds, int(min(most, paying)))


@dataclass(frozen=True, kw_only=True)
class Counted:
    """A published one: counted steps, one case after the other, each process on its own.

    processes: fresh processes per case.
    warmup_steps: steps that are not counted, the first one among them.
    steps: of one epoch.
    epochs: of a process; the first warmup_epochs of them are not counted either.
    duration_seconds: of one process's counted steps, whichever ends first; None: no limit.
    step_by_step: modes whose counted steps are each synchronised and timed on their own.
    timeout_seconds: longest wait for any one answer, or twice what its steps should take.
    memory_limit_bytes: most memory of a worker on the CPU; None: nearly all that is free.
    """

    name: str
    processes: int = 1
    warmup_steps: int = 0
    steps: int
    epochs: int = 1
    warmup_epochs: int = 0
    duration_seconds: float | None = None
    step_by_step: tuple[str, ...] = ()
    timeout_seconds: float = 900.0
    memory_limit_bytes: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.warmup_epochs >= self.epochs:
            raise UsageError(
                f"{self.warmup_epochs} warm-up epochs of {self.epochs} leave none to time; "
                "give a larger --epochs or a smaller --warmup-epochs"
            )

    @property
    def steps_before(self) -> int:
        """All steps that are not counted: one at least, for the first is a figure of its own."""
        return max(1, self.warmup_steps + self.warmup_epochs * self.steps)

    @property
    def counted_epochs(self) -> int:
        return self.epochs - self.warmup_epochs


PRESETS: dict[str, Protocol | Counted] = {
    preset.name: preset
    for preset in (
        Protocol(),
        # DLPerf's README: 20 steps ignored, the next 100 timed, the median of 7 repetitions.
        Counted(name="dlperf", processes=7, warmup_steps=20, steps=100),
        # SuperBench's num_warmup and num_steps; every step is synchronised and timed.
        Counted(
            name="superbench", warmup_steps=64, steps=2048, step_by_step=("train", "inference")
        ),
        # NVIDIA DeepLearningExamples' MXNet benchmark.py as its tables were made: -i 500 -e 3 -w 1.
        Counted(name="nvidia", steps=500, epochs=3, warmup_epochs=1, step_by_step=("inference",)),
    )
}

OPTIONS = {
    "processes": "processes",
    "rounds": "rounds",
    "block": "block_seconds",
    "budget": "budget_seconds",
    "until": "half_width_goal",
    "max_processes": "most_processes",
    "steps": "steps",
    "warmup_steps": "warmup_steps",
    "epochs": "epochs",
    "warmup_epochs": "warmup_epochs",
    "duration": "duration_seconds",
    "timeout": "timeout_seconds",
    "memory_limit": "memory_limit_bytes",
    "seed": "seed",
}
"""The constant that each option of the command line replaces."""


def choose(name: str, options: Mapping[str, Any]) -> Protocol | Counted:
    """The protocol called `name` with its constants replaced by those `options` that are given.

    Raises UsageError for a name that there is not, and for an option that is another protocol's.
    """
    if name not in PRESETS:
        raise UsageError(f"unknown protocol {name!r}{nearest(name, PRESETS)}", option="--protocol")
    preset = PRESETS[name]
    known = {field.name for field in fields(preset)}
    given = {option: options[option] for option in OPTIONS if options.get(option) is not None}
    for option in given:
        if OPTIONS[option] not in known:
            flag = f"--{option.replace('_', '-')}"
            takes = ", ".join(f"--{o.replace('_', '-')}" for o in OPTIONS if OPTIONS[o] in known)
            raise UsageError(f"{flag} is not for the protocol {name}, which takes {takes}",
                             option=flag)  # fmt: skip
    if "max_processes" in given and "until" not in given:
        raise UsageError("--max-processes bounds --until; give both", option="--max-processes")
    return replace(preset, **{OPTIONS[option]: value for option, value in given.items()})
