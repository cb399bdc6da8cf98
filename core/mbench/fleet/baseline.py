"""A baseline: what a healthy fleet measures, with its spread, for comparison with later nodes."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import numpy as np

import mbench
from mbench.console import counted
from mbench.contract.quantities import Count, Real
from mbench.contract.reading import Malformed, read_fields
from mbench.errors import MbenchError, UsageError
from mbench.files import opened
from mbench.fleet.columns import columns_of, expected
from mbench.fleet.judge import Reference, reference_of
from mbench.fleet.nodes import MetricName
from mbench.fleet.spread import FEWEST_NODES
from mbench.fleet.superbench.baseline import is_baseline
from mbench.results.encoding import plain_record

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mbench.fleet.columns import Setup
    from mbench.fleet.nodes import Fleet

__all__ = ["SCHEMA", "Baseline", "BaselineFile", "BaselineMetric", "baseline_of", "read_baseline"]

SCHEMA = 1
LARGEST_BYTES = 2**26


@dataclass(frozen=True, kw_only=True)
class BaselineMetric:
    """A metric of a healthy fleet, as in the file."""

    case: str
    """What was measured."""
    metric: str
    """Which figure of it."""
    unit: str
    """Its unit."""
    better: str
    """Whether a `higher` or a `lower` value is better."""
    nodes: Count
    """Number of nodes."""
    median: Real
    """Their median."""
    spread: Real
    """Their standard deviation, relative to the median."""
    within: Real | None
    """Relative standard error of a node, from its own processes; null where it has one value."""
    values: list[Real]
    """Each node's value, from the worst to the best."""
    software: dict[str, str]
    """Software and machine that they share, by name."""


@dataclass(frozen=True, kw_only=True)
class BaselineFile:
    """What `mbench fleet baseline` writes."""

    schema: int
    """Version of this document."""
    mbench: str
    """Version of mbench that wrote it."""
    made: str
    """When it was written: ISO 8601, UTC."""
    nodes: list[str]
    """The nodes that it was computed from."""
    metrics: list[BaselineMetric]
    """Every metric of at least five like nodes."""


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A metric of a baseline, ready to be used."""

    setup: Setup
    reference: Reference | None


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """A baseline that was read."""

    title: str
    """Its file, number of nodes, and date."""
    metrics: Mapping[MetricName, Kept] = field(default_factory=dict)

    def remarks(self, fleet: Fleet, *, tests: int, alarms: float) -> list[str]:
        """A remark if it is too small for p-values that assume nothing about the distribution."""
        fewest = min((kept.reference.nodes for kept in self.metrics.values() if kept.reference),
                     default=0)  # fmt: skip
        needed = math.ceil(len(fleet.nodes) * tests / alarms) - 1
        if fewest >= needed:
            return []
        return [
            f"conformal p-values are of no use here: with "
            f"{counted(len(fleet.nodes), 'node')}, "
            f"{counted(tests, 'test')} each and {100 * alarms:g} % false alarms, they need a "
            f"baseline of {needed:,} nodes, but it has {fewest:,}; verdicts assume symmetric values"
        ]


def baseline_of(fleet: Fleet) -> BaselineFile:
    """The baseline of a fleet; raises MbenchError where no metric has enough like nodes."""
    found, nodes = [], set()
    for name in expected(fleet):
        columns, _ = columns_of(fleet.nodes, name)
        if not columns or len(columns[0].values) < FEWEST_NODES:
            continue
        column = columns[0]
        reference = reference_of(column)
        nodes |= {value.node for value in column.values}
        found.append(
            BaselineMetric(
                case=name.case, metric=name.metric, unit=column.unit, better=column.better,
                nodes=reference.nodes, median=column.shown(reference.center),
                spread=reference.scale,
                within=column.usual if math.isfinite(column.usual) else None,
                values=[column.shown(float(log)) for log in reference.logs],
                software=dict(column.values[0].setup),
            )
        )  # fmt: skip
    if not found:
        raise MbenchError(
            f"a baseline needs at least {FEWEST_NODES} nodes with the same software on "
            "machines of the same kind: measure more nodes, or see what differs with mbench fleet "
            "summary"
        )
    made = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return BaselineFile(schema=SCHEMA, mbench=mbench.__version__, made=made,
                        nodes=[node.name for node in fleet.nodes if node.name in nodes],
                        metrics=found)  # fmt: skip


def written(baseline: BaselineFile) -> str:
    """The baseline as a JSON document."""
    return json.dumps(plain_record(baseline), indent=1, allow_nan=False) + "\n"


def read_baseline(path: Path) -> Baseline:
    """Read a baseline; raises a one-line MbenchError for a file that is not one."""
    hint = "give a file written by mbench fleet baseline"
    try:
        with opened(path) as file:
            raw = file.read(LARGEST_BYTES + 1)
        if len(raw) > LARGEST_BYTES:
            raise MbenchError(f"{path} is too large for a baseline; {hint}")
        body = json.loads(raw)
        if (
            isinstance(body, dict)
            and isinstance(body.get("schema"), int)
            and body["schema"] > SCHEMA
        ):
            raise MbenchError(f"{path} was written by a newer mbench: upgrade mbench")
        if is_baseline(body):
            raise UsageError(
                f"{path} is a SuperBench baseline, which needs SuperBench's rules too: give them "
                "with --rules",
                option="--baseline",
            )
        found = read_fields(BaselineFile, body, where="baseline")
        metrics = {MetricName(case=one.case, metric=one.metric): kept(one) for one in found.metrics}
    except OSError as error:
        raise MbenchError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, TypeError, RecursionError, OverflowError, AttributeError) as error:
        said = " ".join(str(error).split())
        raise MbenchError(f"{path} is not a baseline ({said:.120}); {hint}") from None
    count = counted(len(found.nodes), "node")
    return Baseline(title=f"{path.name}, {count}, {found.made[:10]}", metrics=metrics)


def kept(one: BaselineMetric) -> Kept:
    if one.better not in ("higher", "lower"):
        raise Malformed(f"better is {one.better!r:.20}")
    if len(one.values) < FEWEST_NODES or not all(value > 0 for value in (*one.values, one.median)):
        raise Malformed(f"{one.case:.40}: at least {FEWEST_NODES} values above 0 are needed")
    if min(one.spread, one.within or 0.0) < 0:
        raise Malformed(f"{one.case:.40}: a spread below 0")
    sign = 1 if one.better == "higher" else -1
    logs = np.sort(sign * np.log(np.array(one.values, dtype=float)))
    scale = max(one.spread, one.within or 0.0)
    reference = Reference(
        center=sign * math.log(one.median), scale=scale, nodes=len(logs), logs=logs
    )
    return Kept(setup=tuple(sorted(one.software.items())), reference=reference)
