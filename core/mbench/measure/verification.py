"""Proves the work of cases equal, before they are measured or for `mbench verify`."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from mbench.contract.axes import name
from mbench.engine.isolation import scratch, temporary_folder
from mbench.engine.outcome import CaseEnded
from mbench.errors import MbenchError
from mbench.machine import durations
from mbench.machine.process_end import last_words
from mbench.measure.activity import (
    CaseStopped,
    ComparisonBegan,
    LogEnd,
    Notice,
    PhaseBegan,
    RunPlanned,
    phases_of,
)
from mbench.measure.environment_pool import EnvironmentPool
from mbench.proofs import cache
from mbench.proofs.judge import CheckResult
from mbench.proofs.locate import Located, locate
from mbench.proofs.observer import ProofRequest, Proving
from mbench.proofs.proof_case import PROVEN_AXES
from mbench.proofs.prove import Verifier
from mbench.results import events
from mbench.results.proof import ProofRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from mbench.environments.environment import Environment
    from mbench.measure.activity import Listener
    from mbench.measure.preflight import Checked
    from mbench.measure.run_context import RunContext
    from mbench.results.encoding import Json
    from mbench.results.store import RunWriter
    from mbench.spec.planning import Comparison, Entry

__all__ = ["CaseProof", "Verification", "proof_seconds", "prove", "verify"]

FEW = 4
"""Up to this many proofs, the progress display does not count them."""


def prove(
    entries: Sequence[tuple[Entry, Environment]], context: RunContext
) -> Iterator[tuple[Entry, CaseEnded]]:
    """Record the proof of each entry, and then prove the operators that show the machine's ceiling.
    Yields the entries that are not measured, and why.
    """
    equal = {entry.number: (entry, environment) for entry, environment in entries}
    log, began, anew = partial(proof_log, context.store), time.monotonic(), False
    with Verifier(context.launcher, timeout=context.launch.timeout_seconds) as verifier:
        for entry, found in proofs(verifier, entries, listener=context.listener, log=log):
            end = found if isinstance(found, CaseEnded) else None
            if isinstance(found, ProofRecord):
                context.store.append(events.EqualWork(case=entry.number, **vars(found)))
                anew = anew or not found.remembered
                if not found.proven and not context.allow_unequal:
                    end = CaseEnded("not-equal", found.failures[0])
            if end is not None:
                del equal[entry.number]
                yield entry, end
        if context.ceilings is not None:
            context.ceilings.prove(list(equal.values()), verifier)
    if anew and len(equal) == len(entries):
        what = proofs_of(entry for entry, _ in entries)
        durations.keep(cache.folder(), what, time.monotonic() - began)


def proofs_of(entries: Iterable[Entry]) -> str:
    """The key under which the duration of a comparison's proofs is remembered."""
    return "\n".join(sorted(f"proofs: {entry.spec.name}: {name(entry.case)}" for entry in entries))


def proof_seconds(comparison: Comparison) -> float | None:
    """Seconds the proofs of a comparison took last time; None if they were never run."""
    entries = [entry for entry in comparison.entries if entry.support.supported]
    return durations.last(cache.folder(), proofs_of(entries))


def proof_log(store: RunWriter, entry: Entry) -> Path:
    return store.log_path(f"{entry.number:03}-{entry.spec.name}-proof.log")


def proofs(
    verifier: Verifier,
    entries: Sequence[tuple[Entry, Environment]],
    *,
    listener: Listener,
    log: Callable[[Entry], Path],
) -> Iterator[tuple[Entry, ProofRecord | CaseEnded]]:
    """Yield each entry's result as it arrives; `listener` receives the progress."""
    requests: dict[ProofRequest, Entry] = {}
    for entry, environment in entries:
        listener.hear(PhaseBegan(entry.label, "looking for its proof"))
        request = ProofRequest(
            adapter=entry.adapter, environment=environment, case=entry.case, log=log(entry)
        )
        requests[request] = entry
    over = 0
    for request, found in verifier.verify(list(requests)):
        entry = requests[request]
        match found:
            case Proving(text):
                listener.hear(PhaseBegan(entry.label, text))
            case CheckResult():
                listener.hear(Notice(f"{entry.label}: NOT PROVEN: {found}"))
            case ProofRecord(proven=proven, grade=grade):
                known = f"{grade} before" if found.remembered else grade
                text = known if proven else "not proven"
                over += 1
                text += f", {over} of {len(requests)}" if len(requests) > FEW else ""
                listener.hear(PhaseBegan(entry.label, text, over=True))
                yield entry, found
            case CaseEnded():
                yield entry, found


@dataclass(frozen=True, kw_only=True)
class CaseProof:
    """The result of one case of `mbench verify`; its `outcome` is "ok" if it is proven."""

    entry: Entry
    outcome: str
    reason: str
    proof: ProofRecord | None
    located: Located | None = None

    @property
    def outputs_fail(self) -> bool:
        findings = self.proof.findings if self.proof else ()
        return any(found.check == "outputs" and not found.passed for found in findings)

    def to_dict(self) -> dict[str, Json]:
        """As in the JSON document of `mbench verify`."""
        result = {
            "framework": self.entry.label,
            **{axis.name: axis.of(self.entry.case) for axis in PROVEN_AXES},
            "outcome": self.outcome,
            "reason": self.reason,
            "proof": self.proof and asdict(self.proof),
        }
        if self.proof:
            result["version"] = self.proof.version
        if self.located:
            result["located"] = asdict(self.located)
        return result


class Verification(NamedTuple):
    """The result of each case, and whether Ctrl-C interrupted it."""

    results: list[CaseProof]
    interrupted: bool


def verify(
    checked: Checked,
    listener: Listener,
    *,
    fresh: bool = False,
    quick: bool = False,
    locate: bool = False,
) -> Verification:
    """Prove each case, or recall its proof unless `fresh`; if `quick`, up to the first failure.

    If `locate`, the last framework is used to find the tensor in which others go wrong.
    """
    launch, comparisons = checked.experiment.launch, checked.comparisons
    environments = EnvironmentPool(
        comparisons=[replace(c, entries=(entry,)) for c in comparisons for entry in c.entries],
        accelerator=launch.device, provision=launch.provision, listener=listener,
    )  # fmt: skip
    results: dict[int, CaseProof] = {}
    interrupted = False
    with (
        temporary_folder() as logs,
        scratch(),
        Verifier(
            checked.launcher, timeout=launch.timeout_seconds, fresh=fresh, quick=quick
        ) as verifier,
    ):
        verification = CaseVerification(verifier, environments, listener, logs)
        try:
            listener.hear(RunPlanned((None,) * len(comparisons)))
            for comparison in comparisons:
                labels = tuple(entry.label for entry in comparison.entries)
                listener.hear(ComparisonBegan(comparison.title, labels))
                for result in verification.results(comparison):
                    results[result.entry.number] = result
                if locate:
                    *others, proven = (results[entry.number] for entry in comparison.entries)
                    for result in others:
                        if result.outputs_fail:
                            found = verification.located(result, proven)
                            results[result.entry.number] = replace(result, located=found)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            listener.close()
    return Verification([results[number] for number in sorted(results)], interrupted)


@dataclass(frozen=True)
class CaseVerification:
    """Proves the cases of each comparison, one after the other."""

    verifier: Verifier
    environments: EnvironmentPool
    listener: Listener
    logs: Path

    def results(self, comparison: Comparison) -> Iterator[CaseProof]:
        entries = []
        for entry in comparison.entries:
            try:
                if not entry.support.supported:
                    raise CaseEnded(entry.lack, entry.support.reason)
                entries.append((entry, self.environments.environment_for(entry)))
            except (CaseEnded, MbenchError) as error:
                yield self.ended(entry, CaseEnded.of(error))
        log = self.log
        for entry, found in proofs(self.verifier, entries, listener=self.listener, log=log):
            if isinstance(found, CaseEnded):
                yield self.ended(entry, found)
            elif not found.proven:
                yield self.ended(entry, CaseEnded("not-equal", "; ".join(found.failures)), found)
            else:
                yield CaseProof(entry=entry, outcome="ok", reason="", proof=found)

    def log(self, entry: Entry) -> Path:
        return self.logs / f"{entry.number}.log"

    def ended(self, entry: Entry, end: CaseEnded, proof: ProofRecord | None = None) -> CaseProof:
        self.listener.hear(CaseStopped(entry.label, end))
        if end.log and end.outcome in ("crashed", "failed", "timeout"):
            self.listener.hear(LogEnd(last_words(end.log)))
        return CaseProof(entry=entry, outcome=end.outcome, reason=end.reason, proof=proof)

    def located(self, result: CaseProof, proven: CaseProof) -> Located:
        """The tensor in which outputs go wrong, found by a framework that is proven."""
        label = proven.entry.label
        if proven.outcome != "ok":
            return Located(f"not located: {label} is not proven itself")
        with temporary_folder() as logs:
            sides = [
                (
                    one.adapter,
                    self.environments.environment_for(one),
                    one.case,
                    logs / f"{one.number}.log",
                )
                for one in (result.entry, proven.entry)
            ]
            try:
                found = locate(
                    *sides,
                    timeout=self.verifier.timeout,
                    report=phases_of(result.entry.label, self.listener),
                    launcher=self.verifier.launcher,
                )
            except CaseEnded as end:
                found = Located(f"not located: {end.outcome}: {end.reason}")
        self.listener.hear(Notice(f"{result.entry.label}: {found.said}"))
        return found
