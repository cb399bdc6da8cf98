"""Lets cases' work be proven equal, and tells how far that is."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from mbench.engine.outcome import CaseEnded
from mbench.verify.observer import Wanted
from mbench.verify.prove import prove_all

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mbench.environments.environment import Environment
    from mbench.progress.progress import Progress
    from mbench.results.proof import ProofRecord
    from mbench.spec.planning import Entry

__all__ = ["prove_entries"]


def prove_entries(
    entries: Sequence[tuple[Entry, Environment]],
    progress: Progress,
    *,
    log: Callable[[Entry], Path],
    ended: Callable[[Entry, ProofRecord | CaseEnded], None],
    **how: Any,
) -> None:
    """The proofs of `entries`, of which `ended` is told; `how` is as in `prove_all`."""

    def tell(entry: Entry, found: ProofRecord | CaseEnded) -> None:
        """No phase is left standing as if it went on."""
        if not isinstance(found, CaseEnded):
            known = f"{found.grade} before" if found.remembered else found.grade
            progress.phase(entry.label, known if found.proven else "not proven")
        ended(entry, found)

    def fails(entry: Entry, text: str) -> None:
        progress.say(f"{entry.label}: NOT PROVEN: {text}")

    wanted = []
    for entry, environment in entries:
        progress.phase(entry.label, "looking for its proof")
        one = Wanted(
            adapter=entry.adapter,
            environment=environment,
            case=entry.case,
            log=log(entry),
            report=partial(progress.phase, entry.label),
            ended=partial(tell, entry),
            failed=partial(fails, entry),
        )
        wanted.append(one)
    prove_all(wanted, **how)
