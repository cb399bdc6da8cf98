"""Makes parts of proofs in this process, so that tests can plant lies in what a worker runs.

A part is one observation of a proof: "inference", "plain" and "own" are the passes in float64,
"dropout" is the one with dropout. What is prepared stays until another part is, for building and
loading a model takes longer than watching it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from dataclasses import replace

from mbench.contract import wire
from mbench.contract.case import Case
from mbench.equality import judge
from mbench.equality.gates import EXACT
from mbench.equality.prove import proof_case
from mbench.equality.reference import SEEDS, STEPS, folder_of, load
from mbench.worker.session import Session
from mbench.workloads import generator
from mbench.workloads.workload import Workload

__all__ = ["Proofs", "assert_caught", "draws_remembered"]

WORKLOADS = {
    "resnet50": "mbench.workloads.resnet:RESNET50",
    "bert-base": "mbench.workloads.bert:BERT_BASE",
}
CHECKS = {"plain": "updates", "own": "optimizer"}


class Proofs:
    """Parts of proofs by one adapter's runtime, "module:Class", under one of its compilers."""

    def __init__(self, runtime, compiler):
        self.session = Session()
        self.session.answer(wire.Describe(runtime=runtime, device="cpu", threads=2))
        self.compiler = compiler
        self.prepared = None

    def case(self, model, part):
        exact = proof_case(
            Case(
                model=model,
                workload=WORKLOADS[model],
                mode="inference" if part == "inference" else "train",
                batch_size=1,
                precision="fp64",
                compiler=self.compiler,
                device="cpu",
                threads=2,
            )
        )
        if part == "dropout":
            return replace(exact, precision="fp32", dropout=True)
        return replace(exact, plain_sgd=part == "plain")

    def prepare(self, model, part):
        """The benchmark of a part, as a worker prepares it; the one before if it is the same."""
        if self.prepared != (model, part):
            self.prepared = None
            self.session.answer(wire.Prepare(case=self.case(model, part)))
            self.prepared = model, part
        return self.session.benchmark

    def build(self, model, part):
        """As `prepare`, but always anew, and not kept for the next: what is built is a lie."""
        self.prepared = None
        benchmark = self.prepare(model, part)
        self.prepared = None
        return benchmark

    def findings(self, model, part, count):
        """The checks of the benchmark that is prepared.

        `count` cuts a part short, for time's sake: so many training steps, or so many sets of
        parameters in inference.
        """
        workload = self.session.workload
        reference = fingerprint(model)
        if part == "inference":
            seen = [self.observe(seed=seed, training=False) for seed in SEEDS[:count]]
            yield judge.judge_parameters(seen[0], workload)
            for seed, observation in zip(SEEDS, seen, strict=False):
                expected = reference.outputs[seed]
                yield judge.judge_outputs(observation, expected, gate=EXACT, check="outputs")
            yield judge.judge_flops(seen[0].counted_flops, workload)
        elif part == "dropout":
            once, again = (self.observe(seed=0, training=True).steps[0].loss for _ in range(2))
            yield judge.judge_dropout(once, again, reference.own.losses[0])
        else:
            observation = self.observe(seed=0, training=True, steps=count)
            whole = getattr(reference, part)
            expected = replace(whole, losses=whole.losses[:count], whole=whole.whole[:count])
            yield judge.judge_parameters(observation, workload)
            yield judge.judge_trajectory(
                observation,
                expected,
                workload,
                check=CHECKS[part],
                keep=0 if part == "plain" else STEPS - 1,
            )
            losses = [step.loss for step in observation.steps]
            yield judge.judge_losses(losses, expected.losses, gate=EXACT, check="loss")

    def observe(self, *, seed, training, steps=1):
        return self.session.answer(wire.Observe(seed=seed, steps=steps, training=training))


@functools.cache
def fingerprint(model):
    module, _, attribute = WORKLOADS[model].partition(":")
    workload = getattr(importlib.import_module(module), attribute)
    return load(folder_of(WORKLOADS[model]) / f"{model}.npz", workload)


@contextlib.contextmanager
def draws_remembered(monkeypatch):
    """Starting values and signs of sketches are drawn once: every observation needs the same."""
    signs, initial = functools.cache(generator.signs), Workload.initial
    values = {}

    def remembered(workload, tensor, *, seed):
        key = workload.name, tensor.name, seed
        if key not in values:
            values[key] = initial(workload, tensor, seed=seed)
            values[key].flags.writeable = False
        return values[key]

    with monkeypatch.context() as patched:
        patched.setattr(generator, "signs", signs)
        patched.setattr(Workload, "initial", remembered)
        yield


def assert_caught(findings, expected):
    """Each check in `expected` fails, in words that are listed there; nothing fails if it is {}."""
    findings = list(findings)
    failures = [str(finding) for finding in findings if not finding.passed]
    assert findings
    assert expected or not failures, failures
    for check, words in expected.items():
        said = [text for text in failures if text.startswith(f"{check}: ")]
        assert any(all(word in text for word in words) for text in said), (check, words, failures)
    print(*failures, sep="\n")
