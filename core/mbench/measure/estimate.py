"""How long each comparison is going to take, by its plan and by earlier runs."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, NamedTuple

from mbench.results.identity import CaseIdentity
from mbench.results.previous_runs import past_step_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mbench.measure.preflight import Checked
    from mbench.spec.planning import Comparison
    from mbench.spec.protocol import Protocol

__all__ = ["Foreseen", "estimate", "foreseen"]


class Foreseen(NamedTuple):
    """One comparison; seconds are None where nothing is known."""

    comparison: Comparison
    seconds: float | None
    words: str


def estimate(
    comparison: Comparison, protocol: Protocol, *, step_seconds: Mapping[int, float]
) -> tuple[float | None, str]:
    """Seconds and in words; None where nothing is known.

    `step_seconds` are those of earlier runs, by the number of the case. Environments, proofs and
    searches come on top.
    """
    entries = [entry for entry in comparison.entries if entry.support.supported]
    if not entries:
        return 0.0, "nothing to measure"
    return protocol.estimate([step_seconds.get(entry.number) for entry in entries])


def foreseen(checked: Checked, results: Path) -> list[Foreseen]:
    """`results` is the folder of earlier runs, which are read only where the plan is not enough."""
    protocol = checked.experiment.protocol
    found = [Foreseen(one, *estimate(one, checked.further.get(one.number, protocol),
                                     step_seconds={}))
             for one in checked.comparisons]  # fmt: skip
    if all(one.seconds is not None for one in found):
        return found
    entries = [entry for comparison in checked.comparisons for entry in comparison.entries]
    here = {"hostname": socket.gethostname()}
    cases = {
        entry.number: CaseIdentity(
            axes=entry.case,
            framework=entry.spec.name,
            spec=entry.spec.text,
            workload=entry.case.workload,
            machine=here,
        )
        for entry in entries
    }
    known = past_step_seconds(results, cases)
    return [Foreseen(one, *estimate(one, protocol, step_seconds=known))
            for one in checked.comparisons]  # fmt: skip
