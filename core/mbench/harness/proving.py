"""Lets a case's work be proven equal, and tells how far that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.engine import local
from mbench.equality.prove import prove

if TYPE_CHECKING:
    from pathlib import Path

    from mbench.engine.worker import Launcher
    from mbench.environments.environment import Environment
    from mbench.harness.progress import Progress
    from mbench.plan.plan import Entry
    from mbench.results.proof import ProofRecord

__all__ = ["proof_of"]


def proof_of(
    entry: Entry,
    environment: Environment,
    progress: Progress,
    *,
    log: Path,
    timeout: float,
    launcher: Launcher = local.start,
    fresh: bool = False,
    quick: bool = False,
) -> ProofRecord:
    """The proof of `entry`, which is not left standing as if it went on; raises CaseEnded."""
    progress.phase(entry.label, "looking for its proof")
    proof = prove(
        entry.adapter,
        environment,
        entry.case,
        log=log,
        timeout=timeout,
        report=lambda text: progress.phase(entry.label, text),
        failed=lambda text: progress.say(f"{entry.label}: NOT PROVEN: {text}"),
        launcher=launcher,
        fresh=fresh,
        quick=quick,
    )
    found = "proven before" if proof.remembered else "proven"
    progress.phase(entry.label, found if proof.proven else "not proven")
    return proof
