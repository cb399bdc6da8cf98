"""A step of the acceptance, how its process ended, and how it is judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["FAILED", "NINE", "OUT_OF_TIME", "PASSED", "PHASES", "SKIPPED", "Ended", "Judge", "Step",
           "Verdict"]  # fmt: skip

PASSED, FAILED, SKIPPED, OUT_OF_TIME = "passed", "failed", "skipped", "out of time"
NINE = "nine"
PHASES = {
    NINE: "does it work at all",
    "breadth": "more models, precisions and compilers, and figures",
    "refusals": "what should fail by name",
}
"""In order of value."""

Document = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a step's process ended."""

    returncode: int
    """As in subprocess: negative if a signal ended it."""
    seconds: float
    stopped: bool
    """It was stopped at its limit."""
    interrupted: bool
    """It was stopped by Ctrl-C."""
    said: str
    """The last line that it wrote to stderr."""


@dataclass(frozen=True)
class Verdict:
    """`outcome` is one of those above; `reason` is one line, which may be empty for a pass."""

    outcome: str
    reason: str = ""


Judge = Callable[[Ended, Document | None], Verdict]
"""Judges a process that ended by itself, and the JSON that it printed."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One process, and how to tell whether it did what it should."""

    name: str
    phase: str
    about: str
    program: tuple[str, ...]
    """What follows the interpreter: "-m", "mbench", "verify", ..."""
    judge: Judge
    seconds: float
    """Its limit, if there is time enough for all steps."""
    least: float = 10.0
    """The step does not begin with less time than this."""
    budget: float | None = None
    """The share of the limit that each comparison gets as --budget; None if it takes no budget."""
    variables: Mapping[str, str] = field(default_factory=dict)
    skip: str = ""
    """Why the step is not done here; empty if it is."""
