"""The proof of one case in the making: its passes as jobs, and what is kept of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mbench.engine.outcome import CaseEnded
from mbench.proofs import cache, judge
from mbench.proofs.exact import exact_pass
from mbench.proofs.exchange import EXCHANGED
from mbench.proofs.observer import Observer
from mbench.proofs.proof_case import in_float64
from mbench.proofs.reference import PLAIN_RATE
from mbench.proofs.timed import timed_pass
from mbench.proofs.together import exchange_pass
from mbench.proofs.tolerances import EXACT
from mbench.results.proof import PROVEN, SHOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mbench.contract.case import Case
    from mbench.engine.jobs import Jobs
    from mbench.plugins.launcher import Launcher
    from mbench.proofs.observer import ProofRequest, Proving
    from mbench.proofs.worker_pool import Idle

__all__ = ["Prover"]

FRAMEWORK_BYTES = 1.5 * 2**30
"""A framework in float64 beside its model."""
TIMES_PARAMETERS = 8
"""In float64: weights, gradients and moments, and a copy of each on its way."""


class Prover(Observer):
    """One case's proof in the making: a job in float64 and a job as it is timed."""

    def __init__(
        self,
        request: ProofRequest,
        *,
        launcher: Launcher,
        timeout: float,
        fresh: bool,
        quick: bool,
        idle: Idle,
        hear: Callable[[Proving | judge.CheckResult], None],
    ) -> None:
        super().__init__(request, launcher=launcher, timeout=timeout, idle=idle, hear=hear)
        self.fresh = fresh
        self.quick = quick
        self.scaled: Case | None = None
        self.name = cache.key(self.adapter, self.environment, self.timed)
        if request.case.devices > 1 and self.timed.updates:
            self.scaled = replace(self.timed, scale=request.case.scale)
            self.name += f"-{request.case.scale}-{getattr(self.launcher, 'name', 'local')}"
        self.timed_name = f"{self.name} as it is timed"
        self.exact_name = cache.key(self.adapter, self.environment, self.exact)
        if self.grade == SHOWN:  # of which fp32 as it is timed is a part, not the same
            self.exact_name += "-shown"
        if self.workload.exchanges:
            self.exact_name += f"-{getattr(self.launcher, 'name', 'local')}"
            self.name = f"{self.exact_name}-{self.name}"

    @property
    def needed_bytes(self) -> float:
        """What one of its jobs is likely to hold at most on a machine: an exchange has several
        processes there.
        """
        each = FRAMEWORK_BYTES + TIMES_PARAMETERS * 8 * self.workload.parameter_count()
        return each * (self.scaled or self.timed).places.devices_per_node

    def begin(self, jobs: Jobs) -> None:
        """Let everything be made that does not depend on a result."""
        jobs.once(self.exact_name, self.exact_proof)
        if not self.quick:
            jobs.once(self.timed_name, self.timed_findings)
            if self.scaled:
                jobs.once(self.exchange_name, self.exchange_findings)

    def proof(self, jobs: Jobs) -> judge.Proof:
        """Both parts; raises CaseEnded where a worker falls short."""
        exact = jobs.once(self.exact_name, self.exact_proof).result()
        findings = list(exact.findings)
        # Nothing else can be told of another model.
        if findings[0].passed and not (self.quick and exact.failures()):
            findings += jobs.once(self.timed_name, self.timed_findings).result()
            if self.scaled:
                findings += jobs.once(self.exchange_name, self.exchange_findings).result()
        return replace(exact, findings=findings, notes=[*exact.notes, *self.notes])

    def exact_proof(self) -> judge.Proof:
        """The part in float64, or that which stands for it. Every precision under one compiler
        shares it, so it is kept too.
        """
        remembered = None if self.fresh else cache.recall(self.exact_name)
        if remembered is not None:
            return judge.Proof.of(remembered)
        notes: list[str] = []
        findings = list(self.heard(exact_pass(self, self.exact, notes)))
        proof = judge.Proof(findings, notes, version=self.version, grade=self.grade)
        cache.remember(self.exact_name, proof)
        return proof

    def timed_findings(self) -> list[judge.CheckResult]:
        """The part in the timed precision and compiler; nothing where float64 is what is timed."""
        exact = self.timed == self.exact and self.grade == PROVEN
        return [] if exact else list(self.heard(timed_pass(self)))

    @property
    def exchange_name(self) -> str:
        return f"{self.name} together"

    def exchange_findings(self) -> list[judge.CheckResult]:
        """Of several processes, in float64 and as they are timed."""
        assert self.scaled is not None
        exact = in_float64(self.adapter, self.scaled)
        if not (support := self.adapter.supports(exact)).supported:
            raise CaseEnded("unsupported", f"its exchange cannot be proven: {support.reason}")
        found = list(self.heard(exchange_pass(self, exact, PLAIN_RATE, gate=EXACT)))
        if exact != self.scaled and all(finding.passed for finding in found):
            timed = exchange_pass(self, self.scaled, self.visible, gate=EXCHANGED)
            found += list(self.heard(timed))
        return found

    def heard(self, findings: Iterable[judge.CheckResult]) -> Iterator[judge.CheckResult]:
        """The same, each failure reported as it is found; if `quick`, the first is the last."""
        for finding in findings:
            yield finding
            if not finding.passed:
                self.hear(finding)
                if self.quick:
                    return
