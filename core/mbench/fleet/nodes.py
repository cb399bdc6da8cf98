"""What nodes of a fleet measured, whichever tool recorded it: types used throughout `fleet`.

A node is what a verdict is about: a machine, or whatever its folder stands for. Each of its runs is
one independent measurement, and within a run each fresh process is a replicate.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from mbench.contract.metric import HIGHER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["CASE_FAILED", "IMPOSSIBLE", "MISSING", "UNREADABLE", "Computed", "Fingerprint", "Fleet",
           "MetricName", "Node", "NodeRun", "Reading", "ResultName", "in_order"]  # fmt: skip

MISSING = "missing"
"""The run has no value of a metric that it should have."""
CASE_FAILED = "failed"
"""The case that should have been measured raised an error, died, hung or was refused."""
IMPOSSIBLE = "impossible"
"""What the file contains cannot be a value: NaN, infinite, zero, negative, text."""
UNREADABLE = "unreadable"
"""The file of the run cannot be read."""


@dataclass(frozen=True, kw_only=True, order=True)
class MetricName:
    """A metric, the same on every node: what was measured, and which figure of it."""

    case: str
    """What was measured: "torch: resnet50 train, batch 64, fp32, cpu", or the name of a benchmark
    with its annotation: "resnet_models/pytorch-resnet50"."""
    metric: str
    """Which figure: "throughput", or all that follows the slash: "fp32_train_throughput:0"."""

    def __str__(self) -> str:
        return f"{self.case}: {self.metric}"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A metric from one run of a node: either values, or why there are none to judge."""

    values: tuple[float, ...] = ()
    """One value per fresh process, all finite and above 0; a single one where the tool wrote a
    single number, which says nothing about scatter."""
    unit: str = ""
    """Unit of the values; empty where it is not known."""
    better: str = HIGHER
    """Whether a `higher` or a `lower` value is better; empty where that is not known."""
    problem: str = ""
    """Why there is no value: MISSING, CASE_FAILED or IMPOSSIBLE; empty where there is one."""
    reason: str = ""
    """The reason in one line."""

    def __post_init__(self) -> None:
        if bool(self.values) is bool(self.problem):
            raise ValueError("a reading has either values or a problem")
        if not all(0 < value < math.inf for value in self.values):
            raise ValueError("values of a reading are finite and above 0")

    @classmethod
    def of(cls, values: Iterable[object], *, unit: str = "", better: str = HIGHER) -> Reading:
        """A reading of what a file contains: numbers, or else IMPOSSIBLE or MISSING."""
        given = list(values)
        found = [value for one in given if (value := possible(one)) is not None]
        if not given:
            return cls(unit=unit, better=better, problem=MISSING, reason="no value")
        if len(found) < len(given):
            wrong = next(one for one in given if possible(one) is None)
            shown = "null" if wrong is None else f"{brief(wrong)}"
            problem = MISSING if wrong is None else IMPOSSIBLE
            return cls(unit=unit, better=better, problem=problem, reason=f"the value is {shown}")
        return cls(values=tuple(found), unit=unit, better=better)


def possible(value: object) -> float | None:
    """`value` if a metric can have it; None for NaN, infinity, 0, negative numbers, text."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:  # an integer of hundreds of digits
        return None
    return found if 0 < found < math.inf else None


def brief(value: object) -> str:
    """A file's value in a few characters: an integer may have more digits than Python prints."""
    try:
        text = repr(value)
    except ValueError:
        return "a number with thousands of digits"
    return text if len(text) <= 40 else f"{text[:37]}..."


Fingerprint = tuple[float, ...]
"""A loss, or the sketch of a tensor: equal bit for bit on like machines with the same software."""


@dataclass(frozen=True, kw_only=True, order=True)
class ResultName:
    """Something that a case computed after the same work on every node."""

    step: int
    """Steps since the parameters were loaded, or the number of the batch."""
    what: str
    """In words: "loss of step 1", "outputs of batch 3: logits"."""


@dataclass(frozen=True, kw_only=True)
class Computed:
    """What a case of a run computed, and with what."""

    software: Mapping[str, str] = field(default_factory=dict)
    """Versions and settings of this case alone, by name: the framework's version and build."""
    results: Mapping[ResultName, tuple[Fingerprint, ...]] = field(default_factory=dict)
    """What each process computed, of those that got so far."""
    wrong: str = ""
    """How it differs from mbench's float64 reference, in one line; empty where it does not, or
    where it was not compared."""


@dataclass(frozen=True, kw_only=True)
class NodeRun:
    """One run of a node: an independent measurement of all its metrics."""

    run: str
    """Unique name of the run."""
    started: str = ""
    """When it began: ISO 8601, UTC; empty where that is not known."""
    host: str = ""
    """Name of the machine that wrote it; empty where that is not known."""
    readings: Mapping[MetricName, Reading] = field(default_factory=dict)
    """What it measured."""
    computed: Mapping[str, Computed] = field(default_factory=dict)
    """What it computed, by the case of a MetricName."""
    software: Mapping[str, str] = field(default_factory=dict)
    """Versions and settings of all cases, by name: of mbench, the kernel, tuning variables."""
    machine: Mapping[str, str] = field(default_factory=dict)
    """What makes machines alike, by name: processor, cores, devices."""
    memory_bytes: int = 0
    """Memory of the machine; 0 where it is not known."""
    metrics: tuple[str, ...] = ()
    """Names of all metrics that can be requested for its cases."""
    threads: Mapping[str, int] = field(default_factory=dict)
    """Threads that each case computed with, by its name."""
    command: str = ""
    """The command to type on the node for another such run; empty where it is not known."""
    problem: str = ""
    """Why it has no readings at all, in one line: the file cannot be read."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """All that is known about one node."""

    name: str
    """Its name as found, which may be any text."""
    runs: tuple[NodeRun, ...] = ()
    """Oldest first; none where its folder is empty."""


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """All nodes, sorted by name, whatever order they were read in."""

    nodes: tuple[Node, ...]

    @classmethod
    def of(cls, nodes: Iterable[Node]) -> Fleet:
        """Raises ValueError if two nodes have the same name."""
        found = sorted(nodes, key=lambda node: in_order(node.name))
        names = [node.name for node in found]
        for first, second in pairwise(names):
            if first == second:
                raise ValueError(f"two nodes are called {first!r}")
        return cls(nodes=tuple(found))


def in_order(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts names as people would: n2 before n10."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    key = [(0, int(p[:4000]), p) if p[0] in "0123456789" else (1, 0, p) for p in parts]
    return (*key, (-1, 0, name))
