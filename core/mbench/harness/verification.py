"""Proves every case of some comparisons, and measures nothing."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mbench.console import printable
from mbench.engine.ending import last_words
from mbench.engine.outcome import CaseEnded
from mbench.engine.scratch import scratch
from mbench.equality.proof_case import PROVEN
from mbench.errors import MbenchError
from mbench.harness.beforehand import check_device
from mbench.harness.homes import Homes
from mbench.harness.proving import proof_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mbench.harness.progress import Progress
    from mbench.plan.plan import Comparison, Entry
    from mbench.results.proof import ProofRecord

__all__ = ["Verification", "verify"]


class Verification(NamedTuple):
    """The outcome of each case, as plain data, and whether Ctrl-C ended it."""

    results: list[dict[str, Any]]
    interrupted: bool


def verify(
    comparisons: Sequence[Comparison],
    progress: Progress,
    *,
    device: str,
    provision: bool,
    timeout: float,
    fresh: bool,
    quick: bool = False,
) -> Verification:
    """Prove each case, or find it proven before unless `fresh`; if `quick`, until a check fails."""
    check_device(device)
    homes = Homes(
        comparisons=[replace(c, entries=(entry,)) for c in comparisons for entry in c.entries],
        accelerator=device, provision=provision, progress=progress,
    )  # fmt: skip

    def prove(entry: Entry) -> ProofRecord:
        return proof_of(
            entry, homes.of(entry), progress, log=Path(logs, f"{entry.number}.log"),
            timeout=timeout, fresh=fresh, quick=quick,
        )  # fmt: skip

    results: list[dict[str, Any]] = []
    interrupted = False
    with tempfile.TemporaryDirectory(prefix="mbench-") as logs, scratch():
        try:
            progress.plan([None] * len(comparisons))
            for comparison in comparisons:
                progress.comparison(comparison.title, [e.label for e in comparison.entries])
                for entry in comparison.entries:
                    results.append(prove_entry(entry, progress, prove))
        except KeyboardInterrupt:
            interrupted = True
        finally:
            progress.close()
    return Verification(results, interrupted)


def prove_entry(
    entry: Entry, progress: Progress, prove: Callable[[Entry], ProofRecord]
) -> dict[str, Any]:
    """One entry's proof with its outcome, as plain data."""
    case = entry.case
    result: dict[str, Any] = {
        "framework": entry.label, **{axis.name: axis.of(case) for axis in PROVEN},
        "outcome": "ok", "reason": "", "proof": None,
    }  # fmt: skip
    try:
        if not entry.support.supported:
            raise CaseEnded(entry.lack, entry.support.reason)
        proof = prove(entry)
        result |= {"proof": asdict(proof), "version": proof.version}
        if not proof.proven:
            raise CaseEnded("not-equal", "; ".join(proof.failures))
    except (CaseEnded, MbenchError) as error:
        end = CaseEnded.of(error)
        result |= {"outcome": end.outcome, "reason": end.reason}
        progress.ended(entry.label, end)
        if end.log and end.outcome in ("crashed", "failed", "timeout"):
            print(*map(printable, last_words(end.log).splitlines()), sep="\n", file=sys.stderr)
    return result
