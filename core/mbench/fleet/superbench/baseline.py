"""SuperBench's baselines: one JSON object of flat numbers, a number for each metric."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from mbench.errors import UsageError
from mbench.files import opened
from mbench.fleet.superbench.names import today, without_rank
from mbench.fleet.superbench.results import Unusable, parsed, reason, value_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mbench.fleet.superbench.results import Results, Value

__all__ = ["Baseline", "is_baseline", "medians", "read_baseline", "written"]

LARGEST_BYTES = 64 << 20


class Baseline:
    """The expected value of each metric, by its name."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self.values = values
        self.by_today = {today(name): value for name, value in values.items()}

    def of(self, metric: str) -> tuple[float | None, str]:
        """The baseline of a metric, by its name with or without the rank, or why it has none."""
        for name in (metric, without_rank(metric)):
            found = self.values.get(name, self.by_today.get(today(name)))
            if isinstance(found, Unusable):
                return None, f"the baseline is {found.reason}"
            if found is not None:
                return (found, "") if found else (None, "the baseline is 0")
        return None, "there is no baseline"


def read_baseline(path: Path) -> Baseline:
    """Read a baseline; raises a one-line UsageError for anything else."""
    try:
        with opened(path, most=LARGEST_BYTES) as file:
            raw = file.read(LARGEST_BYTES)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {reason(error)}") from None
    hint = "a baseline is one JSON object of numbers by metric"
    found = parsed(raw, str(path), hint=f"; {hint}")
    if not isinstance(found, dict) or ("metrics" in found and "schema" in found):
        raise UsageError(f"{path} is not a baseline of SuperBench; {hint}")
    return Baseline({name: value_of(value) for name, value in found.items()})


def is_baseline(body: object) -> bool:
    """Whether a JSON file's content can be a baseline: flat values by names that have a slash."""
    return isinstance(body, dict) and bool(body) and all(
        "/" in name and not isinstance(value, dict | list) for name, value in body.items()
    )  # fmt: skip


def medians(results: Results) -> dict[str, float]:
    """The median of each metric over the nodes that have a number; for return codes, always 0."""
    found = {}
    for metric in results.metrics:
        given = [node.get(metric) for node in results.nodes.values()]
        numbers = sorted(one for one in given if isinstance(one, float))
        if numbers:
            middle = len(numbers) // 2
            # halves are added: the sum of two large numbers may be infinite
            median = numbers[middle] / 2 + numbers[~middle] / 2
            code = without_rank(metric).endswith("/return_code")
            found[metric] = 0.0 if code else median
    return found


def written(values: Mapping[str, float]) -> str:
    """A baseline file. Whole numbers are written as such, as SuperBench does."""
    flat = {
        name: int(value) if value.is_integer() and abs(value) < 1e15 else value
        for name, value in sorted(values.items())
        if math.isfinite(value)
    }
    return json.dumps(flat, indent=2, allow_nan=False) + "\n"
