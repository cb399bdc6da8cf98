"""Lets it be found in which tensor a framework goes wrong, and tells it."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from mbench.engine.outcome import CaseEnded
from mbench.engine.scratch import folder
from mbench.verify.locate import Located, locate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.engine.worker import Launcher
    from mbench.measure.environment_pool import EnvironmentPool
    from mbench.progress.progress import Progress
    from mbench.spec.planning import Comparison, Entry

__all__ = ["tell_where"]


def tell_where(
    comparison: Comparison,
    homes: EnvironmentPool,
    progress: Progress,
    results: Sequence[dict[str, Any]],
    *,
    timeout: float,
    launcher: Launcher,
) -> None:
    """Add `located` to results whose outputs are wrong: by the last entry, if that is proven."""
    of = {result["number"]: result for result in results}
    *entries, proven = comparison.entries

    def find(entry: Entry) -> Located:
        if of[proven.number]["outcome"] != "ok":
            return Located(f"not located: {proven.label} is not proven itself")
        with folder() as logs:
            new, other = (
                (one.adapter, homes.of(one), one.case, logs / f"{one.number}.log")
                for one in (entry, proven)
            )
            report = partial(progress.phase, entry.label)
            try:
                return locate(new, other, timeout=timeout, report=report, launcher=launcher)
            except CaseEnded as end:
                return Located(f"not located: {end.outcome}: {end.reason}")

    for entry in entries:
        proof = of[entry.number]["proof"]
        if proof and any(f["check"] == "outputs" and not f["passed"] for f in proof["findings"]):
            found = find(entry)
            of[entry.number]["located"] = asdict(found)
            progress.say(f"{entry.label}: {found.said}")
