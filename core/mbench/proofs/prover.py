"""Makes the proof of one case. Its passes are jobs, and their results are stored."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mbench.contract.scenario import RANKS, UPDATES
from mbench.engine.outcome import CaseEnded
from mbench.proofs import cache, judge
from mbench.proofs.exact import exact_pass
from mbench.proofs.exchange import EXCHANGED, exchange_pass
from mbench.proofs.observer import Observer
from mbench.proofs.proof_case import in_float64
from mbench.proofs.reference import PLAIN_RATE, how_to_write
from mbench.proofs.timed import timed_pass
from mbench.proofs.tolerances import EXACT
from mbench.results.proof import PROVEN, SHOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mbench.contract.case import Case
    from mbench.engine.jobs import Jobs
    from mbench.plugins.launcher import Launcher
    from mbench.proofs.observer import ProofRequest, Proving, WorkerPool

__all__ = ["Prover"]

FRAMEWORK_BYTES = 1.5 * 2**30
"""Memory of a framework in float64, besides its model."""
TIMES_PARAMETERS = 8
"""In float64: weights, gradients and moments, and a copy of each in transit."""


class Prover(Observer):
    """One case's proof: a job in float64 and a job as it is timed."""

    def __init__(
        self,
        request: ProofRequest,
        *,
        launcher: Launcher,
        timeout: float,
        fresh: bool,
        quick: bool,
        pool: WorkerPool,
        hear: Callable[[Proving | judge.CheckResult], None],
    ) -> None:
        super().__init__(request, launcher=launcher, timeout=timeout, pool=pool, hear=hear)
        self.fresh = fresh
        self.quick = quick
        self.scaled: Case | None = None
        self.name = cache.key(self.adapter, self.environment, self.timed, self.work)
        if request.case.devices > 1 and self.scenario.proof == UPDATES:
            self.scaled = replace(self.timed, scale=request.case.scale)
            self.name += f"-{request.case.scale}-{getattr(self.launcher, 'name', 'local')}"
        self.timed_name = f"{self.name} as it is timed"
        self.exact_name = cache.key(self.adapter, self.environment, self.exact, self.work)
        if self.grade == SHOWN:  # fp32 as timed is only a part of that
            self.exact_name += "-shown"
        if self.scenario.proof == RANKS:
            self.exact_name += f"-{getattr(self.launcher, 'name', 'local')}"
            self.name = f"{self.exact_name}-{self.name}"

    @property
    def needed_bytes(self) -> float:
        """An estimate of the most memory that one of its jobs needs on one machine: for an
        exchange, several processes run there.
        """
        each = FRAMEWORK_BYTES + TIMES_PARAMETERS * 8 * self.workload.parameter_count()
        return each * (self.scaled or self.timed).parsed_scale.devices_per_node

    def begin(self, jobs: Jobs) -> None:
        """Start all jobs that do not depend on a result."""
        jobs.once(self.exact_name, self.exact_proof)
        if not self.quick:
            jobs.once(self.timed_name, self.timed_findings)
            if self.scaled:
                jobs.once(self.exchange_name, self.exchange_findings)

    def proof(self, jobs: Jobs) -> judge.Proof:
        """Both parts; raises CaseEnded if a worker fails."""
        exact = jobs.once(self.exact_name, self.exact_proof).result()
        findings = list(exact.findings)
        # If the model is the wrong one, nothing else can be checked.
        if findings[0].passed and not (self.quick and exact.failures()):
            findings += jobs.once(self.timed_name, self.timed_findings).result()
            if self.scaled:
                findings += jobs.once(self.exchange_name, self.exchange_findings).result()
        return replace(exact, findings=findings, notes=[*exact.notes, *self.notes])

    def exact_proof(self) -> judge.Proof:
        """The part in float64, or its replacement. All precisions under one compiler share it, so
        it is stored separately.
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
        """The part in the timed precision and compiler; empty if float64 is timed."""
        exact = self.timed == self.exact and self.grade == PROVEN
        return [] if exact else list(self.heard(timed_pass(self)))

    @property
    def exchange_name(self) -> str:
        return f"{self.name} together"

    def exchange_findings(self) -> list[judge.CheckResult]:
        """The exchange of several processes, in float64 and as they are timed."""
        assert self.scaled is not None
        exact = in_float64(self.adapter, self.scaled)
        if not (support := self.adapter.supports(exact)).supported:
            raise CaseEnded("unsupported", f"its exchange cannot be proven: {support.reason}")
        found = list(self.heard(exchange_pass(self, exact, PLAIN_RATE, gate=EXACT)))
        if exact != self.scaled and all(finding.passed for finding in found):
            timed = exchange_pass(self, self.scaled, self.visible, gate=EXCHANGED)
            found += list(self.heard(timed))
        return found

    def hinted(self, finding: judge.CheckResult) -> judge.CheckResult:
        """Add a hint: a model with its own files may have changed since its reference was made."""
        if finding.passed or finding.check != "outputs" or not self.workload.model_files:
            return finding
        hint = (f"if {self.workload.name} has changed since its reference file was written, write "
                f"that again with: {how_to_write(self.workload)}")  # fmt: skip
        return replace(finding, note="; ".join(filter(None, (finding.note, hint))))

    def heard(self, findings: Iterable[judge.CheckResult]) -> Iterator[judge.CheckResult]:
        """The findings with hints. Each failure is reported as it is found; if `quick`, the first
        failure is the last finding.
        """
        for finding in map(self.hinted, findings):
            yield finding
            if not finding.passed:
                self.hear(finding)
                if self.quick:
                    return
