"""The metrics of cases: which there are, and which one verdicts are about."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from mbench.contract.metric import METRICS
from mbench.errors import UsageError
from mbench.scenarios.find import find_scenarios

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mbench.contract.case import Case
    from mbench.contract.metric import Metric

__all__ = ["MetricSummary", "check_metric", "chosen_metric", "described", "known_metrics",
           "metrics_of", "no_metric"]  # fmt: skip


ENTRY_POINTS = "mbench"
"""The group of plugins' entry points."""


@dataclass(frozen=True, kw_only=True)
class MetricSummary:
    """A metric, as documents describe it."""

    name: str
    """Its name, as `--metric` takes it."""
    title: str
    """Its name in reports."""
    says: str
    """What it is, in a few words."""
    better: str
    """Whether a `higher` or a `lower` value is better."""
    faster: str
    """The word for a case that is shown to be better: `faster`."""
    slower: str
    """The word for a case that is shown to be worse."""


def described(metric: Metric) -> MetricSummary:
    """A metric, as documents describe it."""
    faster, slower = metric.verdicts
    return MetricSummary(
        name=metric.name,
        title=metric.title,
        says=metric.says,
        better=metric.better,
        faster=faster,
        slower=slower,
    )


def metrics_of(case: Case) -> Sequence[Metric]:
    """The metrics of the case's scenario; verdicts are about the first, unless another is asked
    for.
    """
    if not is_trusted(case.scenario):
        return METRICS
    try:
        return find_scenarios(case.mode, case.scenario)[0].metrics
    except (ImportError, LookupError, AttributeError, TypeError, ValueError):
        return METRICS  # it came from a plugin that is no longer installed


@cache
def is_trusted(reference: str) -> bool:
    """Whether a scenario is mbench's own or an installed plugin's. A run's file may name any
    module, and reading the file must not import it.
    """
    package = reference.partition(":")[0].partition(".")[0]
    plugins = entry_points(group=ENTRY_POINTS)
    return package in ("", "mbench", *(one.module.partition(".")[0] for one in plugins))


def known_metrics(cases: Iterable[Case]) -> dict[str, Metric]:
    """All metrics of `cases`, by name."""
    return {metric.name: metric for case in cases for metric in metrics_of(case)}


def chosen_metric(case: Case, name: str) -> Metric | None:
    """The metric called `name`, or the first if `name` is empty; None if the case has no such
    metric.
    """
    found = metrics_of(case)
    return next((one for one in found if one.name == name), None) if name else found[0]


def check_metric(name: str, cases: Iterable[Case]) -> None:
    """Raises UsageError if none of `cases` has a metric called `name`."""
    known = known_metrics(cases)
    if name and known and name not in known:
        raise no_metric(name, known)


def no_metric(name: str, known: Iterable[str]) -> UsageError:
    """The error for a metric that no case has."""
    return UsageError(f"no metric is called {name!r}; available: {', '.join(known)}",
                      option="--metric")  # fmt: skip
