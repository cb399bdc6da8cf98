"""Plants lies in what a worker runs; the proof of equal work must catch each by name.

Each adapter derives `LiesAreCaught` and defines how each lie is planted in its framework.

Parts of proofs are computed in this process. A part is one observation of a proof: "inference",
"plain" and "own" are the passes in float64, "timed" is plain gradient descent in a precision that
is timed, and "dropout" is the pass with dropout. A prepared benchmark is kept until another part is
prepared, because building and loading a model takes longer than observing it.
"""

from __future__ import annotations

import contextlib
import functools
from dataclasses import replace

import pytest

from mbench.cli.builtin import mbench_workloads
from mbench.contract import generator, wire
from mbench.contract.case import Case
from mbench.contract.workload import Workload
from mbench.proofs import judge
from mbench.proofs.changes import judge_changes, visible_rate
from mbench.proofs.proof_case import proof_case, proof_work
from mbench.proofs.reference import PLAIN_RATE, SEEDS, folder_of, load
from mbench.proofs.tolerances import CHANGES, EXACT
from mbench.scenarios.find import resolve
from mbench.sdk import tensors
from mbench.worker.session import Session

__all__ = ["LiesAreCaught", "build_then", "keeping"]

WORKLOADS = {
    "resnet50": "mbench.workloads.resnet:RESNET50",
    "small-bert": "proven:MODELS",
    "small-dit": "proven:MODELS",
    "small-dlrm": "proven:MODELS",
}
CHECKS = {"plain": "updates", "own": "optimizer"}

LIES = [
    ("resnet50", "inference", 2, "nothing", {}),
    ("resnet50", "inference", 1, "pads_one_side_more", {"outputs": ["output logits"]}),
    ("resnet50", "inference", 1, "wrong_epsilon",
     {"outputs": ["output logits", "an epsilon or an approximation"]}),
    ("resnet50", "inference", 2, "keeps_its_outputs", {"outputs": ["output logits"]}),
    ("resnet50", "plain", 1, "nothing", {}),
    ("resnet50", "plain", 1, "wrong_momentum",
     {"updates": ["bn1.running_mean", "running statistics most: momentum"]}),
    ("resnet50", "plain", 1, "forgets_the_classifier",
     {"updates": ["change of fc.weight", "1 of 267 tensors differ, 1 of them did not change"]}),
    ("resnet50", "plain", 1, "skips_the_update", {"updates": ["the step skips its update"]}),
    ("resnet50", "plain", 1, "sums_the_loss",
     {"loss": ["loss of step 1", "4 times what it should be: a sum in place of a mean"],
      "updates": ["common factor 4"]}),
    ("resnet50", "own", 3, "nothing", {}),
    ("resnet50", "own", 3, "no_weight_decay", {"optimizer": ["weight decay"]}),
    ("resnet50", "own", 3, "keeps_gradients", {"optimizer": ["267 of 267 tensors differ"]}),
    ("resnet50", "timed", 1, "nothing", {}),
    ("resnet50", "timed", 1, "forgets_the_classifier",
     {"gradients": ["change of fc.weight", "1 of 161 tensors hardly change"]}),
    ("resnet50", "timed", 1, "skips_the_update",
     {"gradients": ["change of conv1.weight", "161 of 161 tensors hardly change"]}),
    ("small-bert", "inference", 1, "nothing", {}),
    ("small-bert", "inference", 1, "tanh_gelu",
     {"outputs": ["output", "an epsilon or an approximation"]}),
    ("small-bert", "inference", 1, "first_positions",
     {"outputs": ["output mlm_logits", "nsp_logits right"]}),
    ("small-bert", "plain", 1, "nothing", {}),
    ("small-bert", "plain", 1, "no_clipping", {"updates": ["common factor", "clipping"]}),
    ("small-bert", "own", 3, "nothing", {}),
    ("small-bert", "own", 3, "weight_decay_everywhere",
     {"optimizer": ["most of all those without weight decay"]}),
    ("small-bert", "dropout", 1, "nothing", {}),
    ("small-bert", "dropout", 1, "dropout_left_off", {"dropout": ["dropout is off"]}),
]  # fmt: skip
"""Model, part, its count, the method that plants the lie, and what each failing check must report.
The order prepares each part once.
"""


class LiesAreCaught:
    """Base of an adapter's lies; a lie is a method that takes a benchmark and monkeypatch.

    `package` is the adapter's; `compiler` is one under which a lie can be planted in a built model.
    strides_first, conv1_has_a_bias and freezes_a_layer take monkeypatch alone: they are planted
    before a ResNet is built.
    """

    package: str
    compiler: str
    counts_flops = True
    timed = "amp-bf16"
    """The precision of the part "timed"."""

    @pytest.fixture(scope="class")
    @classmethod
    def proofs(cls):
        with pytest.MonkeyPatch.context() as monkeypatch, draws_remembered(monkeypatch):
            yield Proofs(f"{cls.package}.runtime:Runtime", cls.compiler, timed=cls.timed)

    def nothing(self, benchmark, monkeypatch):
        """Plants no lie: the control."""

    @pytest.mark.parametrize(("model", "part", "count", "lie", "expected"), LIES)
    def test_a_lie(self, proofs, monkeypatch, model, part, count, lie, expected):
        getattr(self, lie)(proofs.prepare(model, part), monkeypatch)
        assert_caught(proofs.findings(model, part, count), expected)

    def test_resnet_v1_in_place_of_v15(self, proofs, monkeypatch):
        """ResNet v1 has its stride in the first 1x1 convolution, as in the original paper."""
        self.strides_first(monkeypatch)
        proofs.build("resnet50", "inference")
        expected = {"outputs": ["output logits"]}
        if self.counts_flops:
            expected["flops"] = ["GFLOP forward per sample"]
        assert_caught(proofs.findings("resnet50", "inference", 1), expected)

    def test_a_bias_too_many_does_not_load(self, proofs, monkeypatch):
        self.conv1_has_a_bias(monkeypatch)
        with pytest.raises(ValueError, match=r"the model has conv1\.bias, which was left out"):
            proofs.build("resnet50", "inference")

    def test_a_bias_too_many_in_spite_of_a_lenient_adapter(self, proofs, monkeypatch):
        def lenient(*arguments, honest=tensors.load):
            with pytest.raises(ValueError, match="left out"):
                honest(*arguments)

        self.conv1_has_a_bias(monkeypatch)
        monkeypatch.setattr(tensors, "load", lenient)
        proofs.build("resnet50", "inference")
        findings = proofs.findings("resnet50", "inference", 1)
        assert_caught(findings, {"parameters": ["conv1.bias is unexpected"]})

    def test_a_frozen_layer(self, proofs, monkeypatch):
        self.freezes_a_layer(monkeypatch)
        proofs.build("resnet50", "plain")
        expected = {
            "parameters": ["trainable, not 25,557,032"],
            "updates": ["change of layer1.0.conv1.weight", "did not change"],
        }
        assert_caught(proofs.findings("resnet50", "plain", 1), expected)


def keeping(function):
    """`function`, called once only: its first result is returned ever after."""
    kept = []

    def call(*arguments):
        if not kept:
            kept.append(function(*arguments))
        return kept[0]

    return call


def build_then(family, monkeypatch, change):
    """Apply `change` to every model that the family's file builds."""
    honest = family.build

    def build(config):
        model = honest(config)
        change(model)
        return model

    monkeypatch.setattr(family, "build", build)


class Proofs:
    """Parts of proofs by one adapter's runtime, "module:Class", under one of its compilers; `axes`
    are further axes of the case in training.
    """

    def __init__(self, runtime, compiler, *, timed, **axes):
        self.timed = timed
        self.axes = axes
        self.session = Session()
        self.session.answer(wire.Start(runtime=runtime, device="cpu", threads=2))
        self.compiler = compiler
        self.prepared = None

    def case(self, model, part):
        infers = part == "inference"
        whole = Case(
            model=model,
            workload={**mbench_workloads(), **WORKLOADS}[model],
            mode="inference" if infers else "train",
            batch_size=1,
            precision="fp64",
            compiler=self.compiler,
            device="cpu",
            threads=2,
        )
        exact = proof_case(whole if infers else replace(whole, **self.axes))
        if part == "dropout":
            return replace(exact, precision="fp32", dropout=True)
        return replace(exact, precision=self.timed) if part == "timed" else exact

    def work(self, case, model, part):
        own = proof_work(case)
        if part == "timed":
            gradients = self.reference(model).plain.tensors
            return own.plain(visible_rate(resolve(case, own), gradients, PLAIN_RATE))
        return own.plain(PLAIN_RATE) if part == "plain" else own

    def prepare(self, model, part):
        """The benchmark of a part, as a worker prepares it; the previous one if it fits."""
        if self.prepared != (model, part):
            self.prepared = None
            case = self.case(model, part)
            self.session.answer(wire.Prepare(case=case, work=self.work(case, model, part)))
            self.prepared = model, part
        return self.session.cycler.prepared.benchmark

    def build(self, model, part):
        """As `prepare`, but always built anew, and never reused, since it contains a lie."""
        self.prepared = None
        benchmark = self.prepare(model, part)
        self.prepared = None
        return benchmark

    def findings(self, model, part, count):
        """Yields the findings about the prepared benchmark.

        `count` shortens a part to save time: it is the number of training steps, or of sets of
        parameters in inference.
        """
        workload = self.session.cycler.prepared.work.workload
        reference = self.reference(model)
        if part == "inference":
            seen = [self.observe(seed=seed) for seed in SEEDS[:count]]
            yield judge.judge_parameters(seen[0], workload)
            for seed, observation in zip(SEEDS, seen, strict=False):
                expected = reference.outputs[seed]
                yield judge.judge_outputs(observation, expected, gate=EXACT, check="outputs")
            yield judge.judge_flops(seen[0].counted_flops, workload)
        elif part == "dropout":
            once, again = (self.observe(seed=0).steps[0].loss for _ in range(2))
            yield judge.judge_dropout(once, again, reference.own.losses[0])
        elif part == "timed":
            yield from judge_changes(
                self.observe(seed=0).steps[0],
                reference.plain.tensors,
                workload,
                gates=CHANGES[self.timed],
                check="gradients",
                factor=workload.optimizer.learning_rate / PLAIN_RATE,
            )
        else:
            observation = self.observe(seed=0, steps=count)
            whole = getattr(reference, part)
            expected = replace(whole, losses=whole.losses[:count], whole=whole.whole[:count])
            yield judge.judge_parameters(observation, workload)
            yield judge.judge_trajectory(observation, expected, workload, check=CHECKS[part])
            losses = [step.loss for step in observation.steps]
            yield judge.judge_losses(losses, expected.losses, gate=EXACT, check="loss")

    @functools.cache  # noqa: B019
    def reference(self, model):
        case = self.case(model, "inference")
        return load(folder_of(case.workload) / f"{model}.npz", resolve(case, proof_work(case)))

    def observe(self, *, seed, steps=1):
        return self.session.answer(wire.Observe(seed=seed, steps=steps))


@contextlib.contextmanager
def draws_remembered(monkeypatch):
    """Starting values and signs of sketches are drawn once: every observation needs the same."""
    signs, initial = functools.cache(generator.signs), Workload.initial
    values = {}

    def remembered(workload, tensor, *, seed):
        key = workload.name, tensor, seed  # small workloads share names, not shapes
        if key not in values:
            values[key] = initial(workload, tensor, seed=seed)
            values[key].flags.writeable = False
        return values[key]

    with monkeypatch.context() as patched:
        patched.setattr(generator, "signs", signs)
        patched.setattr(Workload, "initial", remembered)
        yield


def assert_caught(findings, expected):
    """Assert that each check in `expected` fails with its words; if {}, that none fails."""
    findings = list(findings)
    failures = [str(finding) for finding in findings if not finding.passed]
    assert findings
    assert expected or not failures, failures
    for check, words in expected.items():
        said = [text for text in failures if text.startswith(f"{check}: ")]
        assert any(all(word in text for word in words) for text in said), (check, words, failures)
    print(*failures, sep="\n")
