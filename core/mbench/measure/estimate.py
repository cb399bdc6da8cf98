"""How long each comparison will take, judging by its plan and by earlier runs."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, NamedTuple

from mbench.results.identity import CaseIdentity
from mbench.results.previous_runs import past_set_seconds, past_step_seconds
from mbench.spec.adaptive import Adaptive
from mbench.spec.learning import Learning

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mbench.measure.preflight import Checked
    from mbench.spec.planning import Comparison, Entry
    from mbench.spec.protocol import Protocol

__all__ = ["Foreseen", "estimate", "foreseen"]


class Foreseen(NamedTuple):
    """The estimate for one comparison; seconds are None where unknown."""

    comparison: Comparison
    seconds: float | None
    words: str


def estimate(
    comparison: Comparison, protocol: Protocol, *, step_seconds: Mapping[int, float]
) -> tuple[float | None, str]:
    """The estimate in seconds (None where unknown) and in words.

    `step_seconds` come from earlier runs, by case number. Environments, proofs and searches are not
    included.
    """
    entries = [entry for entry in comparison.entries if entry.support.supported]
    if not entries:
        return 0.0, "nothing to measure"
    return protocol.estimate([step_seconds.get(entry.number) for entry in entries])


def foreseen(checked: Checked, results: Path) -> list[Foreseen]:
    """The estimate for each comparison. `results` is the folder of earlier runs, which is read only
    if the plan alone is not enough.
    """
    protocol = checked.experiment.protocol
    found = [Foreseen(one, *estimate(one, checked.further.get(one.number, protocol),
                                     step_seconds={}))
             for one in checked.comparisons]  # fmt: skip
    if isinstance(protocol, Adaptive) and protocol.fewest_processes > 1:
        return [in_any_case(one, protocol, results) for one in found]
    if all(one.seconds is not None for one in found) or isinstance(protocol, Learning):
        return found
    entries = [entry for comparison in checked.comparisons for entry in comparison.entries]
    known = past_step_seconds(results, {entry.number: identity(entry) for entry in entries})
    return [Foreseen(one, *estimate(one, protocol, step_seconds=known))
            for one in checked.comparisons]  # fmt: skip


def in_any_case(one: Foreseen, protocol: Adaptive, results: Path) -> Foreseen:
    """The estimate for a comparison whose first sets are always measured: if these took longer than
    the budget in an earlier run, they are expected to take as long again.
    """
    entries = [entry for entry in one.comparison.entries if entry.support.supported]
    took = past_set_seconds(results, [identity(entry) for entry in entries]) if entries else None
    if took is None or one.seconds is None:
        return one
    seconds = max(one.seconds, protocol.fewest_processes * took)
    return Foreseen(one.comparison, seconds, protocol.in_all(seconds))


def identity(entry: Entry) -> CaseIdentity:
    """Identifies the same case on this machine in earlier runs."""
    return CaseIdentity(
        axes=entry.case,
        framework=entry.spec.name,
        spec=entry.spec.text,
        workload=entry.case.workload,
        machine={"hostname": socket.gethostname()},
    )
