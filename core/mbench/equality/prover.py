"""The proof of one case in the making: lets workers run it small and judges what they report."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast

from mbench.contract import wire
from mbench.contract.axes import key
from mbench.engine.launch import launch
from mbench.engine.outcome import CaseEnded
from mbench.equality import cache, judge
from mbench.equality.changes import judge_changes, visible_rate
from mbench.equality.collectives import judge_ranks
from mbench.equality.exchange import (
    CHECK,
    EXCHANGED,
    judge_apart,
    judge_clipped,
    judge_together,
    ways_apart,
)
from mbench.equality.gates import CHANGES, DRIFT, EXACT, TIMED
from mbench.equality.masks import judge_masks
from mbench.equality.phases import judge_phase
from mbench.equality.proof_case import exact_case, in_float64, proof_case
from mbench.equality.reference import (
    DRAWN,
    PLAIN_RATE,
    SEEDS,
    STEPS,
    Computed,
    Reference,
    batch_of,
    find,
)
from mbench.equality.rule import RULE_RATE, judge_rule
from mbench.equality.shown import judge_shown
from mbench.results.proof import PROVEN, SHOWN
from mbench.workloads.operators.collectives import answers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from threading import Lock

    from mbench.contract.adapter import Adapter
    from mbench.contract.case import Case
    from mbench.engine.together import Jobs
    from mbench.engine.worker import Launcher, Worker
    from mbench.environments.environment import Environment
    from mbench.equality.gates import ChangeGates
    from mbench.equality.idle import Idle
    from mbench.results.proof import ProofRecord
    from mbench.workloads.given import GivenWorkload
    from mbench.workloads.operators.collectives import Collective
    from mbench.workloads.operators.updates import Updated
    from mbench.workloads.workload import Workload

__all__ = ["Prover", "Wanted"]

FRAMEWORK_BYTES = 1.5 * 2**30
"""A framework in float64 beside its model."""
TIMES_PARAMETERS = 8
"""In float64: weights, gradients and moments, and a copy of each on its way."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A case to be proven, and who hears of it: one call at a time, some from threads."""

    adapter: Adapter
    environment: Environment
    case: Case
    log: Path
    report: Callable[[str], None]
    """Hears what is done now."""
    ended: Callable[[ProofRecord | CaseEnded], None]
    """Hears the proof, or what a worker or a fingerprint fell short by."""
    failed: Callable[[str], None] = print
    """Hears of each failure when it is found."""


class Prover:
    """One case's proof in the making: a job in float64 and a job as it is timed."""

    def __init__(
        self, wanted: Wanted, *, timeout: float, fresh: bool, quick: bool, launcher: Launcher,
        lock: Lock, idle: Idle,
    ) -> None:  # fmt: skip
        self.adapter = wanted.adapter
        self.environment = wanted.environment
        self.timed = proof_case(wanted.case)
        self.workload: Workload = self.timed.resolve()
        self.log = wanted.log
        self.timeout = timeout
        self.wanted = wanted
        self.fresh = fresh
        self.quick = quick
        self.launcher = launcher
        self.lock = lock
        self.idle = idle
        self.memory_limit_bytes: int | None = None
        """Of the device that it proves on, what one of its workers may hold."""
        self.version = ""
        self.notes: list[str] = []
        if not wanted.case.clip and self.workload.optimizer.clip_norm is not None:
            self.notes.append("proven with clipping, which the timed step leaves out")
        self.exact = exact_case(self.adapter, self.timed)
        self.grade = PROVEN if self.exact.precision == "fp64" else SHOWN
        self.known = find(self.timed, drawn=self.grade == SHOWN)
        if self.grade == SHOWN:
            lack = f"{self.adapter.title} has no float64 for {self.workload.name} here"
            if self.workload.updates_only:
                raise CaseEnded("unsupported", f"{lack}, in which updates are proven")
            if len(self.known.outputs) < len(DRAWN):
                mend = f"python -m mbench.equality.regenerate FRAMEWORK {self.workload.name}"
                reason = f"{lack}, and its fingerprint has too few outputs to do without: {mend}"
                raise CaseEnded("unsupported", reason)
            if self.timed.phase:
                raise CaseEnded("unsupported", f"{lack}, in which gradients are proven")
            self.notes.append(lack)
            if self.timed.updates:
                self.notes.append(f"updates are compared in {self.timed.precision} alone")
        elif self.exact.compiler != self.timed.compiler:
            self.notes.append(
                f"{self.timed.compiler} has no fp64 here: proven under {self.exact.compiler}"
            )
        self.scaled: Case | None = None
        self.name = cache.key(self.adapter, self.environment, self.timed)
        if wanted.case.devices > 1 and self.timed.updates:
            self.scaled = replace(self.timed, scale=wanted.case.scale)
            self.name += f"-{wanted.case.scale}-{getattr(launcher, 'name', 'local')}"
        self.timed_name = f"{self.name} as it is timed"
        self.exact_name = cache.key(self.adapter, self.environment, self.exact)
        if self.grade == SHOWN:  # of which fp32 as it is timed is a part, not the same
            self.exact_name += "-shown"
        if self.workload.exchanges:
            self.exact_name += f"-{getattr(launcher, 'name', 'local')}"
            self.name = f"{self.exact_name}-{self.name}"

    @property
    def reference(self) -> Reference:
        """Of a model that is trained, which is told by a fingerprint."""
        assert isinstance(self.known, Reference)
        return self.known

    @cached_property
    def visible(self) -> float:
        """The rate at which a step of bare descent shows in every precision."""
        return visible_rate(self.workload, self.reference.plain.tensors, PLAIN_RATE)

    @property
    def needed_bytes(self) -> float:
        """What one of its jobs is likely to hold at most on a machine: an exchange has several
        processes there.
        """
        each = FRAMEWORK_BYTES + TIMES_PARAMETERS * 8 * self.workload.parameter_count()
        return each * (self.scaled or self.timed).places.devices_per_node

    @property
    def what(self) -> str:
        """Of several operators, or phases, the one."""
        if self.timed.phase:
            return f"what is {self.timed.phase}"
        return self.workload.name if isinstance(self.known, Computed) else "outputs"

    def report(self, text: str) -> None:
        with self.lock:
            self.wanted.report(text)

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
        findings = list(self.told(self.exact_pass(self.exact, notes)))
        proof = judge.Proof(findings, notes, version=self.version, grade=self.grade)
        cache.remember(self.exact_name, proof)
        return proof

    def timed_findings(self) -> list[judge.Finding]:
        """The part in the timed precision and compiler; nothing where float64 is what is timed."""
        exact = self.timed == self.exact and self.grade == PROVEN
        return [] if exact else list(self.told(self.timed_pass()))

    @property
    def exchange_name(self) -> str:
        return f"{self.name} together"

    def exchange_findings(self) -> list[judge.Finding]:
        """Of several processes, in float64 and as they are timed."""
        assert self.scaled is not None
        exact = in_float64(self.adapter, self.scaled)
        if not (support := self.adapter.supports(exact)).supported:
            raise CaseEnded("unsupported", f"its exchange cannot be proven: {support.reason}")
        found = list(self.told(self.exchange_pass(exact, PLAIN_RATE, gate=EXACT)))
        if exact != self.scaled and all(finding.passed for finding in found):
            timed = self.exchange_pass(self.scaled, self.visible, gate=EXCHANGED)
            found += list(self.told(timed))
        return found

    def told(self, findings: Iterable[judge.Finding]) -> Iterator[judge.Finding]:
        """The same, each failure told when it is found; if `quick`, the first is the last."""
        for finding in findings:
            yield finding
            if not finding.passed:
                with self.lock:
                    self.wanted.failed(str(finding))
                if self.quick:
                    return

    @contextmanager
    def worker(self, case: Case, log: Path) -> Iterator[Worker]:
        """A new one for a model, which may be large; for an operator one that others leave."""
        start = partial(
            launch, self.adapter, self.environment, case, log=log, timeout=self.timeout,
            memory_limit_bytes=self.memory_limit_bytes, launcher=self.launcher,
        )  # fmt: skip
        if isinstance(self.known, Computed):
            alike = key(case, less={"model", "mode", "sizes", "batch_size"})
            of_whom = (self.adapter.name, str(self.environment.python), *alike)
            with self.idle.worker(of_whom, start) as (worker, info):
                self.version = info.version
                yield worker
            return
        worker, info = start()
        self.version = info.version
        with closing(worker):
            yield worker

    def observe(
        self,
        worker: Worker,
        case: Case,
        *,
        seeds: tuple[int, ...] = (0,),
        steps: int = STEPS,
        **more: Any,
    ) -> list[wire.Observation]:
        worker.prepare(case, load=False)
        computed = isinstance(self.known, Computed)
        return [
            worker.ask(
                wire.Observe(
                    seed=seed,
                    steps=steps,
                    training=case.updates,
                    batch=batch_of(seed) if computed else 0,
                    **more,
                ),
                wire.Observation,
            )
            for seed in seeds
        ]

    def exact_pass(self, exact: Case, notes: list[str]) -> Iterator[judge.Finding]:
        """Float64: parameters, outputs and, for training, losses, gradients and optimizer.

        Where there is none, fp32: outputs of many sets of parameters stand for all of that.
        """
        if self.workload.exchanges:
            yield from self.collective_pass(exact, check="outputs")
            return
        if self.workload.updates_only:
            yield from self.update_pass(exact, check="optimizer")
            return
        precise = "float64" if self.grade == PROVEN else "fp32"
        with self.worker(exact, self.log.with_stem(f"{self.log.stem}-{precise}")) as worker:
            self.report(f"proving {self.what} in {precise}")
            inference = exact
            if exact.updates:
                inference = exact_case(self.adapter, replace(exact, mode="inference"))
            seeds = SEEDS if self.grade == PROVEN else tuple(DRAWN)
            if exact.phase:
                seeds = SEEDS[::-1]  # the first is known: a result that is kept is of the other
            seen = self.observe(worker, inference, seeds=seeds, steps=1)
            parameters = judge.judge_parameters(seen[0], self.workload)
            yield parameters
            if not parameters.passed:
                return
            if exact.layers is not None:
                yield self.full_size(worker, exact, notes)
            if exact.phase:
                yield from self.judged_phase(seen[-1], gate=EXACT)
                return
            if self.grade == PROVEN:
                yield from self.judge_seeds(seen, gate=EXACT, check="outputs")
            else:
                yield from judge_shown(seen, self.known.outputs)
            yield judge.judge_flops(seen[0].counted_flops, self.workload)
            if not exact.updates or self.grade == SHOWN:
                return
            # One step of bare descent is the gradient; what steps do in turn shows in the other.
            for name, check, steps in (("plain", "updates", 1), ("own", "optimizer", STEPS)):
                self.report(f"proving {check} in float64")
                case = replace(exact, plain_sgd=PLAIN_RATE if name == "plain" else None)
                (observation,) = self.observe(worker, case, steps=steps)
                expected = getattr(self.reference, name)
                yield judge.judge_trajectory(observation, expected, self.workload, check=check)
                losses = [step.loss for step in observation.steps]
                yield judge.judge_losses(losses, expected.losses[:steps], gate=EXACT, check="loss")

    def full_size(self, worker: Worker, exact: Case, notes: list[str]) -> judge.Finding:
        """Names and shapes of the whole model, where what is proven has fewer layers."""
        whole = replace(exact, layers=None)
        workload = whole.resolve()
        proven = f"proven with {exact.layers} layers of the same code"
        try:
            found = worker.ask(wire.FindShapes(case=whole), wire.ShapesFound)
        except CaseEnded as end:
            if end.outcome != "unsupported":
                raise
            notes.append(f"{proven}; whole size not checked: {end.reason}")
            return judge.Finding("parameters", None, 0.0, note=end.reason)
        notes.append(f"{proven}; all {workload.parameter_count():,} parameters by shape")
        return judge.judge_shapes(found.shapes, workload)

    def judge_seeds(
        self, seen: list[wire.Observation], *, gate: float, check: str
    ) -> Iterator[judge.Finding]:
        """Outputs for each set of parameters."""
        for number, (seed, observation) in enumerate(zip(SEEDS, seen, strict=True)):
            expected = self.known.outputs[seed]
            finding = judge.judge_outputs(observation, expected, gate=gate, check=check)
            if number and not finding.passed and observation.steps == seen[0].steps:
                finding = replace(finding, note="they do not follow the parameters: a kept result")
            yield finding

    def collective_pass(self, case: Case, *, check: str) -> Iterator[judge.Finding]:
        """What every rank gets, of two batches in turn: a kept answer is that of the other."""
        self.report(f"proving {self.what} by {case.devices} processes in {case.precision}")
        config = cast("Collective", case.resolve().config)
        with self.worker(case, self.log.with_stem(f"{self.log.stem}-{case.precision}")) as worker:
            worker.prepare(case, load=False)
            for batch in SEEDS:
                message = wire.Observe(seed=0, steps=1, training=False, batch=batch)
                seen = worker.ask_all(message, wire.Observation)
                yield from judge_ranks(seen, answers(config, batch), check=check)

    def update_pass(self, case: Case, *, check: str) -> Iterator[judge.Finding]:
        """Steps by given gradients, in turn, of two sets of parameters."""
        self.report(f"proving {self.what} in {case.precision} under {case.compiler}")
        workload = cast("Updated", case.resolve())
        with self.worker(case, self.log.with_stem(f"{self.log.stem}-{case.precision}")) as worker:
            seen = self.observe(worker, case, seeds=SEEDS, in_turn=True)
        yield judge.judge_parameters(seen[0], workload)
        for seed, one in zip(SEEDS, seen, strict=True):
            yield judge_rule(
                one.steps, workload,
                precision=case.precision, seed=batch_of(seed), parameters=seed, check=check,
            )  # fmt: skip

    def judged_phase(
        self, seen: wire.Observation, *, gate: float, gates: ChangeGates | None = None
    ) -> Iterator[judge.Finding]:
        whole = replace(self.timed, phase="").resolve()
        return judge_phase(
            seen.steps[-1], self.reference.plain, self.workload, phase=self.timed.phase,
            clip_norm=whole.optimizer.clip_norm, gate=gate, gates=gates,
        )  # fmt: skip

    def exchange_pass(self, case: Case, rate: float, *, gate: float) -> Iterator[judge.Finding]:
        """One step of bare descent, by ranks with the same batch, then by each with its own."""
        ways = ways_apart(case.devices)
        case = replace(case, plain_sgd=rate, parts=ways[0].parts)
        unclipped = replace(case, clip=False)
        self.report(f"proving the exchange of {case.devices} processes in {case.precision}")
        stem = f"{self.log.stem}-together-{case.precision}"
        with self.worker(case, self.log.with_stem(stem)) as worker:
            worker.prepare(case, load=False)
            together = self.seen_by_all(worker)
            yield judge_together(together, self.workload, gate=gate)
            if gate == EXACT:
                yield judge.judge_trajectory(
                    together[0], self.reference.plain, self.workload, check=CHECK
                )
            clips = case.resolve().optimizer.clip_norm is not None
            if clips:
                clipped = self.seen_by_all(worker, apart=1)
                worker.prepare(unclipped, load=False)
            single = [self.seen_by_all(worker, batch=part)[0] for part in range(ways[0].parts)]
            for way in ways:
                own = self.seen_by_all(worker, apart=way.stride)
                yield judge_together(own, self.workload, gate=gate)
                yield from judge_apart(own, single, self.workload, way=way, gate=gate)
                if clips and way is ways[0]:
                    yield judge_clipped(clipped, own, self.workload, rate=rate, gate=gate)

    def seen_by_all(
        self, worker: Worker, *, batch: int = 0, apart: int = 0
    ) -> list[wire.Observation]:
        """What one step leaves on each rank."""
        message = wire.Observe(seed=0, steps=1, training=True, batch=batch, apart=apart)
        return worker.ask_all(message, wire.Observation)

    def timed_pass(self) -> Iterator[judge.Finding]:
        """The timed precision and compiler: outputs or losses, and dropout where there is any."""
        if self.workload.exchanges:
            yield from self.collective_pass(self.timed, check="timed")
            return
        if self.workload.updates_only:
            yield from self.update_pass(self.timed, check="rule")
            return
        case, gate = self.timed, TIMED[self.timed.precision]
        what = f"{self.what} in " if isinstance(self.known, Computed) else ""
        self.report(f"proving {what}{case.precision} under {case.compiler}")
        with self.worker(case, self.log) as worker:
            if case.phase:
                (observed,) = self.observe(worker, case, steps=1)
                yield from self.judged_phase(observed, gate=gate, gates=CHANGES[case.precision])
                return
            if not case.updates:
                seen = self.observe(worker, case, seeds=SEEDS, steps=1)
                yield from self.judge_seeds(seen, gate=gate, check="timed")
                return
            (trained,) = self.observe(worker, case)
            losses = [step.loss for step in trained.steps]
            yield judge.judge_losses(
                losses, self.reference.own.losses, gate=gate, check="timed", drift=DRIFT
            )
            yield from self.timed_changes(worker, trained)
            yield self.timed_rule(worker)
            active = replace(case, dropout=True)
            if active.resolve().config != case.resolve().config:
                once, again = self.observe(worker, active, seeds=(0, 0), steps=1)
                assert losses[0] is not None
                yield judge.judge_dropout(once.steps[0].loss, again.steps[0].loss, losses[0])
                yield from self.timed_masks(worker)

    def timed_changes(self, worker: Worker, trained: wire.Observation) -> Iterator[judge.Finding]:
        """Gradients in the timed precision, and the timed optimizer's steps where they show."""
        case, gates = self.timed, CHANGES[self.timed.precision]
        gradients = self.reference.plain.tensors
        (bare,) = self.observe(worker, replace(case, plain_sgd=self.visible), steps=1)
        yield from judge_changes(
            bare.steps[0], gradients, self.workload,
            gates=gates, check="gradients", factor=self.visible / PLAIN_RATE,
        )  # fmt: skip
        if gates.steps:
            yield from judge_changes(
                trained.steps[-1], self.reference.own.tensors, self.workload,
                gates=gates.of_steps(), check="steps",
            )  # fmt: skip

    def timed_masks(self, worker: Worker) -> Iterator[judge.Finding]:
        """The gradients of one sample, twice."""
        sizes = self.workload.mask_sizes or self.timed.sizes
        case = replace(self.timed, dropout=True, plain_sgd=self.visible, batch_size=1, sizes=sizes)
        if rates := case.resolve().masks():
            once, again = self.observe(worker, case, seeds=(0, 0), steps=1, masked=list(rates))
            yield from judge_masks(once.steps[0], again.steps[0], rates)

    def timed_rule(self, worker: Worker) -> judge.Finding:
        """The optimizer's own kernels, which in float64 may be others."""
        case = replace(self.timed, given=True, sizes={}, batch_size=1, learning_rate=RULE_RATE)
        support = self.adapter.supports(case)
        if not support.supported:
            self.notes.append(f"the optimizer alone is not proven: {support.reason}")
            return judge.Finding("rule", None, 0.0, note=support.reason)
        workload = cast("GivenWorkload", case.resolve())
        (seen,) = self.observe(worker, case, in_turn=True)
        return judge_rule(seen.steps, workload, precision=case.precision, seed=case.seed)
