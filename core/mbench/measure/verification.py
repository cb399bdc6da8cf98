"""Proves every case of some comparisons, and measures nothing."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from mbench.console import printable
from mbench.engine import local
from mbench.engine.machines import machines
from mbench.engine.outcome import CaseEnded
from mbench.engine.scratch import folder, scratch
from mbench.errors import MbenchError
from mbench.machine.process_end import last_words
from mbench.measure.environment_pool import EnvironmentPool
from mbench.measure.locating import tell_where
from mbench.measure.preflight import check_device
from mbench.measure.proving import prove_entries
from mbench.verify.proof_case import PROVEN_AXES
from mbench.verify.worker_pool import Idle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.engine.worker import Launcher
    from mbench.progress.progress import Progress
    from mbench.results.proof import ProofRecord
    from mbench.spec.planning import Comparison, Entry

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
    locate: bool = False,
    launcher: Launcher = local.start,
) -> Verification:
    """Prove each case, or find it proven before unless `fresh`; if `quick`, until a check fails.

    If `locate`, the last framework tells in which tensor the others' outputs go wrong.
    """
    check_device(device, machines(launcher))
    homes = EnvironmentPool(
        comparisons=[replace(c, entries=(entry,)) for c in comparisons for entry in c.entries],
        accelerator=device, provision=provision, progress=progress,
    )  # fmt: skip

    results: list[dict[str, Any]] = []
    interrupted = False
    with folder() as logs, scratch(), closing(Idle()) as idle:
        try:
            progress.plan([None] * len(comparisons))
            for comparison in comparisons:
                progress.comparison(comparison.title, [e.label for e in comparison.entries])
                prove_comparison(
                    comparison, homes, progress, results, timeout=timeout, fresh=fresh, quick=quick,
                    launcher=launcher, idle=idle, log=lambda entry: logs / f"{entry.number}.log",
                )  # fmt: skip
                if locate:
                    tell_where(
                        comparison, homes, progress, results, timeout=timeout, launcher=launcher
                    )
        except KeyboardInterrupt:
            interrupted = True
        finally:
            progress.close()
    return Verification(sorted(results, key=lambda result: result.pop("number")), interrupted)


def prove_comparison(
    comparison: Comparison,
    homes: EnvironmentPool,
    progress: Progress,
    results: list[dict[str, Any]],
    **how: Any,
) -> None:
    """Add each entry's proof with its outcome to `results`, as plain data; `how` as in `verify`."""

    def ended(entry: Entry, found: ProofRecord | CaseEnded) -> None:
        proof = None if isinstance(found, CaseEnded) else found
        end = found if isinstance(found, CaseEnded) else None
        if proof and not proof.proven:
            end = CaseEnded("not-equal", "; ".join(proof.failures))
        results.append(
            {
                "number": entry.number, "framework": entry.label,
                **{axis.name: axis.of(entry.case) for axis in PROVEN_AXES},
                "outcome": end.outcome if end else "ok", "reason": end.reason if end else "",
                "proof": proof and asdict(proof), **({"version": proof.version} if proof else {}),
            }
        )  # fmt: skip
        if end:
            progress.ended(entry.label, end)
            if end.log and end.outcome in ("crashed", "failed", "timeout"):
                words = last_words(end.log).splitlines()
                print(*map(printable, words), sep="\n", file=sys.stderr)

    entries = []
    for entry in comparison.entries:
        try:
            if not entry.support.supported:
                raise CaseEnded(entry.lack, entry.support.reason)
            entries.append((entry, homes.of(entry)))
        except (CaseEnded, MbenchError) as error:
            ended(entry, CaseEnded.of(error))
    prove_entries(entries, progress, ended=ended, **how)
