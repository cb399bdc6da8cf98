"""Reads and writes results-summary.jsonl: a line of flat metrics for each node."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from mbench.contract.metric import HIGHER, LOWER
from mbench.errors import UsageError, why
from mbench.files import opened
from mbench.fleet.nodes import CASE_FAILED, IMPOSSIBLE, MISSING, MetricName, Node, NodeRun, Reading
from mbench.fleet.superbench.names import today
from mbench.fleet.superbench.words import short

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["LONGEST_NAME", "Results", "Unusable", "Value", "nodes_of", "parsed", "read_results",
           "reason", "value_of"]  # fmt: skip

LONGEST_LINE = 16 << 20
MOST_NODES = 100_000
MOST_METRICS = 100_000
LONGEST_NAME = 256
"""Longest name of a metric: a longer one matches no rule."""


@dataclass(frozen=True)
class Unusable:
    """An entry that is not a number where one is expected."""

    reason: str
    """In words: "NaN", "a string", "null"."""
    missing: bool = False
    """There is no value at all: SuperBench also treats NaN and null like this."""
    text: bool = False
    """SuperBench ends with an error if it computes with this value."""


Value: TypeAlias = "float | Unusable"


@dataclass(frozen=True)
class Results:
    """All nodes of a file."""

    path: Path
    nodes: Mapping[str, Mapping[str, Value]]
    """Nodes by name, in the file's order; each has its metrics by their names in the file."""
    metrics: tuple[str, ...]
    """All names, sorted."""
    ignored: int = 0
    """Number of metrics whose names are too long to be used."""


def read_results(path: Path) -> Results:
    """Read results; raises a one-line UsageError for any other file."""
    nodes: dict[str, dict[str, Value]] = {}
    lines: dict[str, int] = {}
    names: set[str] = set()
    ignored: set[str] = set()
    try:
        with opened(path) as file:
            number = 0
            while raw := file.readline(LONGEST_LINE + 1):
                number += 1
                if len(raw) > LONGEST_LINE:
                    raise UsageError(f"{path}, line {number}: longer than 16 MiB")
                if not raw.strip():
                    continue
                node, values = read_line(raw, f"{path}, line {number}")
                if node in nodes:
                    raise UsageError(
                        f"{path}: the node {short(node)!r} appears twice, on lines {lines[node]} "
                        f"and {number}: keep one of them, or give each its own file"
                    )
                ignored |= {name for name in values if len(name) > LONGEST_NAME}
                nodes[node] = {n: v for n, v in values.items() if n not in ignored}
                lines[node] = number
                names |= nodes[node].keys()
                if len(nodes) > MOST_NODES or len(names) > MOST_METRICS:
                    raise UsageError(f"{path}: more than {MOST_NODES:,} nodes or metrics")
    except UsageError:
        raise
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {reason(error)}") from None
    if not nodes:
        raise UsageError(f"{path} has no nodes: give a results-summary.jsonl")
    return Results(path, nodes, tuple(sorted(names)), len(ignored))


def reason(error: OSError | ValueError) -> str:
    """Why a file cannot be read; a ValueError means that no file can have that name."""
    return why(error) if isinstance(error, OSError) else "no file can have that name"


def read_line(raw: bytes, where: str) -> tuple[str, dict[str, Value]]:
    """The node of a line, and what it measured."""
    found = parsed(raw, where)
    if not isinstance(found, dict):
        raise UsageError(f"{where}: must be an object of metrics, with the name of its node")
    node = found.pop("node", None)
    if not isinstance(node, str) or not node.strip():
        raise UsageError(f'{where}: "node" must be the name of the node')
    return node, {name: value_of(value) for name, value in found.items()}


def parsed(raw: bytes, where: str, *, hint: str = "") -> object:
    """The content of JSON, with Unusable for NaN and infinity; raises UsageError."""
    try:
        return json.loads(
            raw.decode("utf-8-sig"), object_pairs_hook=pairs, parse_int=integer,
            parse_constant=lambda word: Unusable(word, missing=word == "NaN"),
        )  # fmt: skip
    except (ValueError, RecursionError) as error:
        said = error.msg if isinstance(error, json.JSONDecodeError) else "not text in UTF-8"
        said = "nested too deeply" if isinstance(error, RecursionError) else said
        raise UsageError(f"{where}: not valid JSON: {short(said)}{hint}") from None


def pairs(given: list[tuple[str, object]]) -> dict[str, object]:
    """An object; a name that occurs twice with different values has no usable value."""
    found: dict[str, object] = {}
    for name, value in given:
        twice = name in found and found[name] != value
        found[name] = Unusable("ambiguous: two values for one name") if twice else value
    return found


def integer(digits: str) -> float:
    """Digits as a float: Python's int takes quadratic time, and refuses thousands of them."""
    return float(digits)


def value_of(value: object) -> Value:
    """A number, or why there is none."""
    if isinstance(value, Unusable):
        return value
    if value is None:
        return Unusable("null", missing=True)
    if isinstance(value, bool):
        return Unusable("true" if value else "false", text=True)
    if isinstance(value, float):
        return value if math.isfinite(value) else Unusable("beyond the range of a float")
    kinds = ((str, "a string"), (list, "a list"), (dict, "an object"))
    kind = next((words for type_, words in kinds if isinstance(value, type_)), "not a number")
    return Unusable(kind, text=True)


RATES = ("throughput", "_bw", "busbw", "algbw", "flops", "iops", "tflops", "success_rate")
TIMES = ("time", "_lat", "latency", "step_times", "lat_ns")


def better(metric: str) -> str:
    """Whether a higher or a lower value is better, by the endings of SuperBench's names."""
    stem = metric.rpartition("/")[2]
    stem = stem[: -len(stem.rpartition(":")[2]) - 1] if ":" in stem else stem
    words = stem.rstrip("0123456789._").removesuffix("_avg")
    if any(part in words for part in RATES) and not words.endswith(TIMES):
        return HIGHER
    if words.endswith(TIMES) or any(f"{part}_" in words for part in TIMES):
        return LOWER
    return ""


def nodes_of(results: Results) -> list[Node]:
    """The nodes for verdicts by statistics: each has one run of single values.

    Return codes other than 0 are failures. Metrics are left out if it is not known which direction
    is better.
    """
    found = []
    for name, values in results.nodes.items():
        readings = dict(reading(metric, value) for metric, value in sorted(values.items()))
        kept = {key: one for key, one in readings.items() if one is not None}
        run = NodeRun(run=f"{results.path.name}: {name}", host=name, readings=kept)
        found.append(Node(name=name, runs=(run,)))
    return found


def reading(metric: str, value: Value) -> tuple[MetricName, Reading | None]:
    """A metric as a fleet sees it; None where it says nothing about speed."""
    benchmark, _, figure = today(metric).rpartition("/")
    named = MetricName(case=benchmark or "results", metric=figure)
    if figure.partition(":")[0] == "return_code":
        if value == 0:
            return named, None
        said = value.reason if isinstance(value, Unusable) else f"{value:g}"
        return named, Reading(problem=CASE_FAILED, reason=f"return code {said}")
    way = better(metric)
    if not way:
        return named, None
    if isinstance(value, Unusable):
        problem = MISSING if value.missing else IMPOSSIBLE
        return named, Reading(better=way, problem=problem, reason=f"the value is {value.reason}")
    return named, Reading.of([value], better=way)
