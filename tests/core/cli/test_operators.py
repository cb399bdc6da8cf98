"""Operators, named as users name them, are proven and compared; lies about them are found."""

from __future__ import annotations

import json
import os

import pytest
from comparing import compare, documents
from support import commands

from mbench.workloads.operators import KINDS

pytestmark = pytest.mark.usefixtures("surroundings")

EVERY = (
    "op:matmul/5x7x6,op:bmm/2x5x7x6,op:linear/5x16x6,op:conv2d/2x8x9x7-o6-k3-s2-p1-g2,"
    "op:attention/2x5x3x4,op:batch_norm/3x4x5x5,op:layer_norm/5x16,op:softmax/5x9,"
    "op:cross_entropy/5x9,op:relu/5x9,op:gelu/5x9,op:add/5x9,op:empty/5x9,op:max_pool/2x4x9x9-k3-s2-p1,op:mean_pool/2x4x6x6,"
    "op:embedding/9x12x8,op:lstm/2x5x6x8,op:rms_norm/5x16,op:rotary/2x5x3x8,"
    "op:grouped_attention/2x5x5x6x2x4,op:swiglu/5x9,op:embedding_bag/5x3x12x8,"
    "op:to_device/5x9,op:from_device/5x9,op:sgd/50,op:adamw/50"
)


def verify(*arguments, fault=""):
    words = ["verify", *arguments, "--threads=1", "--format=json"]
    return commands.mbench(*words, env={**os.environ, "FLAKY": fault})


def test_every_operator_is_proven():
    result = verify("tiny", "--models", EVERY, "--mode", "train,inference")
    assert result.returncode == 1, result.stderr
    made = json.loads(result.stdout)["proofs"]
    assert len(made) == 2 * len(KINDS)
    proofs = [one for one in made if one["outcome"] == "ok"]
    assert [(one["model"], one["reason"]) for one in made if one not in proofs] == [
        (name, f"{name} has no gradients: use --mode inference")
        for name in ("op:to_device/5x9", "op:from_device/5x9")
    ] + [(name, f"{name} only updates: use --mode train") for name in ("op:sgd/50", "op:adamw/50")]
    assert all(one["proof"]["proven"] for one in proofs)
    exact = ("outputs", "optimizer")  # "optimizer" is the check of updates
    worst = [f for one in proofs for f in one["proof"]["findings"] if f["check"] in exact]
    assert len(worst) == 2 * len(proofs)
    assert all(finding["error"] <= 1e-12 for finding in worst)


@pytest.mark.parametrize(
    ("lie", "mode", "where", "model"),
    [
        ("shared", "inference", "output output.1", "op:matmul/5x7x6"),
        ("shared", "train", "output output.1", "op:matmul/5x7x6"),
        ("unread", "inference", "output output.0", "op:matmul/5x7x6"),
        ("zeros", "inference", "output output.", "op:matmul/5x7x6"),
        ("deaf", "train", "output gradient.x.", "op:matmul/5x7x6"),
        ("flat", "inference", "output output.", "op:softmax/5x9"),
    ],
)
def test_a_lie_is_told_by_name(lie, mode, where, model):
    result = verify("flaky", "--models", model, "--mode", mode, fault=lie)
    assert result.returncode == 1
    (proof,) = json.loads(result.stdout)["proofs"]
    failed = [finding for finding in proof["proof"]["findings"] if not finding["passed"]]
    assert failed[0]["check"] == "outputs"
    assert failed[0]["where"].startswith(where)


def test_operators_are_compared_like_models():
    result = compare(
        "tiny", "flaky", "--models", "op:matmul/32x64x48", "--batch-size", "1,8", "--processes",
        "2", "--rounds", "2", "--threads", "1", "--block", "0.01", "--no-mfu", "--format", "json",
        "--mode", "train,inference",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    document, _ = documents(result)
    assert {(c["mode"], c["batch_size"]) for c in document["cases"]} == {
        (mode, calls) for mode in ("train", "inference") for calls in (1, 8)
    }
    for case in document["cases"]:
        assert case["throughput"]["unit"] == "calls/s"
        assert case["equal_work"]["proven"]
        assert case["flops_per_sample"] == 2 * 32 * 64 * 48 * (3 if case["mode"] == "train" else 1)
        assert case["doubts"] == []
    assert all(one["equal_work"] == "proven" for one in document["comparisons"])


def test_the_operators_of_a_model_are_compared_and_counted():
    result = compare(
        "tiny", "flaky", "--operators", "tiny-model", "--batch-size", "2", "--mode",
        "train,inference", "--processes", "1", "--rounds", "1", "--threads", "1", "--block",
        "0.01", "--no-mfu", "--format", "json",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    document, _ = documents(result)
    measured = {(case["model"], case["mode"]) for case in document["cases"]}
    assert measured == {
        ("op:linear/2x256x64", "train"), ("op:cross_entropy/2x64", "train"),
        ("op:linear/2x256x64", "inference"),
    }  # fmt: skip
    for case in document["cases"]:
        assert case["operator"]["counts"] == {"tiny-model": 1}
        speed, work = case["throughput"]["value"], case["flops_per_sample"]
        assert case["operator"]["flops_per_second"] == pytest.approx(speed * work)


def test_the_operators_of_a_model_are_proven():
    result = verify("tiny", "--operators", "tiny-model", "--quick")
    assert result.returncode == 0, result.stderr
    proofs = json.loads(result.stdout)["proofs"]
    assert [one["model"] for one in proofs] == ["op:linear/64x256x64", "op:cross_entropy/64x64"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--models", "resnet18"], "--operators and --models both say what to measure"),
        (["--batch-size", "max"], "depend on its batch size"),
    ],
)
def test_what_operators_cannot_be_asked_for_is_refused(arguments, words):
    result = compare("tiny", "flaky", "--operators", "tiny-model", *arguments)
    assert (result.returncode, words in result.stderr) == (2, True)


def test_what_is_kept_while_it_is_timed_shows():
    result = compare(
        "tiny", "flaky", "--models", "op:matmul/32x64x48", "--mode", "train", "--batch-size", "4",
        "--processes", "1", "--rounds", "2", "--threads", "1", "--block", "0.02", "--no-mfu",
        "--format", "json", fault="kept",
    )  # fmt: skip
    assert result.returncode == 1
    assert "not-equal" in result.stdout


def test_a_name_that_is_none_says_how_it_is_typed():
    result = compare("tiny", "flaky", "--models", "op:matmul/3x4")
    assert result.returncode == 2
    assert "'op:matmul/3x4' should be like op:matmul/MxKxN" in result.stderr
    result = compare("tiny", "flaky", "--models", "op:magic/3x4")
    assert result.returncode == 2
    assert "there is no operator 'magic'" in result.stderr
