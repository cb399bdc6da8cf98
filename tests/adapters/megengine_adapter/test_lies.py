"""Lies planted in MegEngine's models and steps must show in fp32: it has no float64."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import small
from lies import LIES, WORKLOADS, Proofs, assert_caught, draws_remembered
from small import BERT, infer, losses, resnet

pytest.importorskip("mbench_megengine", reason="MegEngine's adapter is not installed here")
pytest.importorskip("megengine", reason="MegEngine is not installed here")

from mbench_megengine.layers import Dropout
from megengine import functional as F
from megengine import module as M

from mbench.contract import wire
from mbench.contract.case import Case
from mbench.proofs.changes import RULE_RATE, judge_rule
from mbench.proofs.judge import judge_dropout
from mbench.proofs.proof_case import given_case, proof_case, proof_work
from mbench.proofs.reference import STEPS
from mbench.proofs.tolerances import TIMED
from mbench.scenarios.find import resolve
from mbench.worker.session import Session

RESNET = resnet(blocks=(1, 1), widths=(8, 16), stem=8, image_size=32)
WIDER = replace(BERT, config=replace(BERT.config, hidden=256, intermediate=512))
"""A BERT in which an approximation of GELU shows, as it does in BERT-Base by 3e-4."""
prepare = partial(small.prepare, mode="inference", compiler="eager")


def of(benchmark, kind):
    return [module for module in benchmark.model.modules() if isinstance(module, kind)]


def apart(found, due):
    return max(
        float(np.linalg.norm(found[name] - due[name]) / np.linalg.norm(due[name])) for name in due
    )


def swaps_filters(benchmark, monkeypatch):
    native = benchmark.natives()["layer1.0.conv1.weight"]
    native.write(native.read()[[1, 0, *range(2, 8)]])


def large_epsilon(benchmark, monkeypatch):
    for module in of(benchmark, (M.BatchNorm2d, M.LayerNorm)):
        monkeypatch.setattr(module, "eps", 1e-3)


def no_second_relu(benchmark, monkeypatch):
    calls, honest = [], F.relu

    def relu(x):
        calls.append(x)
        return x if len(calls) == 2 else honest(x)

    monkeypatch.setattr(F, "relu", relu)


def tanh_gelu(benchmark, monkeypatch):
    root = float(np.sqrt(2 / np.pi))
    monkeypatch.setattr(
        F.nn, "gelu", lambda x: 0.5 * x * (1 + F.tanh(root * (x + 0.044715 * x * x * x)))
    )


@pytest.mark.parametrize(
    ("workload", "lie"),
    [
        (RESNET, swaps_filters),
        (RESNET, large_epsilon),
        (RESNET, no_second_relu),
        (WIDER, tanh_gelu),
        (BERT, large_epsilon),
    ],
    ids=["swapped filters", "batch norm's epsilon", "no relu", "tanh", "layer norm's epsilon"],
)
def test_a_lie_shows_in_outputs(runtime, workload, lie, monkeypatch):
    """A lie moves outputs by more than the second grade's gate; the honest step repeats exactly."""
    benchmark = prepare(runtime, workload)
    due = infer(benchmark)
    assert apart(infer(benchmark), due) == 0
    lie(benchmark, monkeypatch)
    assert apart(infer(benchmark), due) > TIMED["fp32"]


@pytest.fixture(scope="module")
def proofs():
    with pytest.MonkeyPatch.context() as monkeypatch, draws_remembered(monkeypatch):
        yield Proofs("mbench_megengine.runtime:Runtime", "eager", timed="fp32")


def nothing(benchmark, monkeypatch):
    """Plants no lie: the control."""


def skips_the_update(benchmark, monkeypatch):
    monkeypatch.setattr(type(benchmark.update), "__call__", lambda update: None)


def forgets_the_classifier(benchmark, monkeypatch):
    weight = benchmark.update.parameters["fc.weight"]
    for group in benchmark.update.native.param_groups:
        kept = [one for one in group["params"] if one is not weight]
        monkeypatch.setitem(group, "params", kept)


def dropout_left_off(benchmark, monkeypatch):
    for module in of(benchmark, Dropout):
        monkeypatch.setattr(module, "drop_prob", 0)


def told(part):
    return pytest.mark.parametrize(
        ("model", "part", "count", "lie", "expected"), [one for one in LIES if one[1] == part]
    )


@told("timed")
def test_a_lie_shows_in_gradients(proofs, monkeypatch, model, part, count, lie, expected):
    """The gradients are ResNet-50's, in fp32."""
    globals()[lie](proofs.prepare(model, part), monkeypatch)
    assert_caught(proofs.findings(model, part, count), expected)


@pytest.mark.thorough  # and it shows in a smaller BERT
@told("dropout")
def test_a_lie_shows_in_bert_bases_dropout(proofs, monkeypatch, model, part, count, lie, expected):
    globals()[lie](proofs.prepare(model, part), monkeypatch)
    assert_caught(proofs.findings(model, part, count), expected)


@pytest.mark.parametrize(("lie", "caught"), [(nothing, False), (dropout_left_off, True)])
def test_a_lie_shows_in_dropout(runtime, monkeypatch, lie, caught):
    """Dropout that is left off is caught, judged as in a proof."""
    (without,) = losses(prepare(runtime, BERT, mode="train"), 1)
    benchmark = prepare(runtime, BERT, mode="train", dropout=True)
    lie(benchmark, monkeypatch)
    (once,) = losses(benchmark, 1)
    benchmark.load_parameters(BERT.parameters(seed=0))
    (again,) = losses(benchmark, 1)
    finding = judge_dropout(once, again, without)
    assert finding.passed != caught, finding


def no_weight_decay(benchmark, monkeypatch):
    for group in benchmark.update.native.param_groups:
        group["weight_decay"] = 0.0


def weight_decay_everywhere(benchmark, monkeypatch):
    for group in benchmark.update.native.param_groups:
        group["weight_decay"] = benchmark.update.spec.weight_decay


def no_clipping(benchmark, monkeypatch):
    update = benchmark.update
    monkeypatch.setattr(update, "spec", replace(update.spec, clip_norm=None))


def keeps_gradients(benchmark, monkeypatch):
    native = benchmark.update.native
    monkeypatch.setattr(type(native), "clear_grad", lambda optimizer: optimizer)


@pytest.mark.parametrize(
    ("model", "lie", "caught"),
    [
        ("resnet50", nothing, False),
        ("resnet50", no_weight_decay, True),
        ("resnet50", weight_decay_everywhere, True),
        ("resnet50", keeps_gradients, True),
        ("resnet50", skips_the_update, True),
        ("small-bert", nothing, False),
        ("small-bert", no_weight_decay, True),
        ("small-bert", weight_decay_everywhere, True),
        ("small-bert", no_clipping, True),
        ("small-bert", skips_the_update, True),
    ],
)
def test_a_lie_shows_in_the_optimizer_alone(monkeypatch, model, lie, caught):
    case = proof_case(
        Case(
            model=model, workload=WORKLOADS[model], mode="train", batch_size=1, precision="fp32",
            compiler="eager", device="cpu", threads=2,
        )
    )  # fmt: skip
    case, work = given_case(case), proof_work(case, learning_rate=RULE_RATE)
    session = Session()
    session.answer(wire.Start(runtime="mbench_megengine.runtime:Runtime", device="cpu", threads=2))
    session.answer(wire.Prepare(case=case, work=work, load=False))
    lie(session.cycler.prepared.benchmark, monkeypatch)
    seen = session.answer(wire.Observe(seed=0, steps=STEPS, in_turn=True))
    finding = judge_rule(seen.steps, resolve(case, work), precision="fp32", seed=case.seed)
    assert finding.passed != caught, finding
