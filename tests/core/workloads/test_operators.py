"""Operators: what their names say, and that their gradients are those of their definitions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cases import make_case

from mbench.scenarios.find import resolve
from mbench.scenarios.operator import GRADIENTS
from mbench.workloads.operators import KINDS, OPERATORS

SMALL = {
    "matmul": "op:matmul/3x4x5",
    "bmm": "op:bmm/2x3x4x5",
    "linear": "op:linear/3x4x5",
    "conv2d": "op:conv2d/2x4x7x6-o6-k3-s2-p1-g2",
    "attention": "op:attention/2x3x2x4",
    "batch_norm": "op:batch_norm/3x2x3x2",
    "layer_norm": "op:layer_norm/3x5",
    "softmax": "op:softmax/3x5",
    "cross_entropy": "op:cross_entropy/3x5",
    "relu": "op:relu/3x5",
    "gelu": "op:gelu/3x5",
    "add": "op:add/3x5",
    "empty": "op:empty/3x5",
    "to_device": "op:to_device/3x5",
    "from_device": "op:from_device/3x5",
    "max_pool": "op:max_pool/2x2x7x7-k3-s2-p1",
    "mean_pool": "op:mean_pool/2x3x4x4",
    "embedding": "op:embedding/6x4x3",
    "embedding_bag": "op:embedding_bag/3x2x4x3",
    "lstm": "op:lstm/2x3x4x5",
    "rms_norm": "op:rms_norm/3x5",
    "rotary": "op:rotary/2x3x2x4",
    "grouped_attention": "op:grouped_attention/2x3x3x4x2x4",
    "swiglu": "op:swiglu/3x5",
    "sgd": "op:sgd/5",
    "adamw": "op:adamw/5",
}
UPDATED = ("op:sgd/5", "op:adamw/5")
STEP = 1e-6


def case(name, *, batch_size=1, mode="train"):
    return make_case(
        model=name,
        workload="mbench.workloads.operators:OPERATORS",
        batch_size=batch_size,
        mode=mode,
    )


def operands(kind):
    """Operands by name, in float64, and the names of those that are differentiated."""
    drawn = np.random.default_rng(0)
    found, floats = {}, []
    for one in kind.inputs():
        if one.below:
            found[one.name] = drawn.integers(one.below, size=one.shape)
        else:
            found[one.name] = drawn.normal(size=one.shape)
            floats.append(one.name)
    for tensor in kind.weights():
        found[tensor.name] = tensor.center + tensor.scale * drawn.uniform(-1, 1, tensor.shape)
        floats += [tensor.name] if tensor.trainable else []
    return found, floats


def test_every_kind_is_tried():
    assert SMALL.keys() == KINDS.keys()


@pytest.mark.parametrize(
    "name",
    [
        *(n for n in SMALL.values() if not (GRADIENTS.suits(OPERATORS[n]) or n in UPDATED)),
        "op:linear/3x4x5-b0",
        "op:grouped_attention/2x1x3x4x2x4",
    ],
)
def test_gradients_are_those_of_the_definition(name):
    kind = OPERATORS[name].config
    x, floats = operands(kind)
    direction = np.random.default_rng(1).normal(size=kind.outputs())
    gradients = kind.backward(x, direction)
    assert set(gradients) >= set(floats)
    for operand in floats:
        slopes = np.empty(x[operand].shape)
        for at in np.ndindex(*slopes.shape):
            ends = []
            for step in (STEP, -STEP):
                moved = x[operand].copy()
                moved[at] += step
                output = kind.forward({**x, operand: moved}, training=True)
                assert output.shape == kind.outputs()
                ends.append((output * direction).sum())
            slopes[at] = (ends[0] - ends[1]) / (2 * STEP)
        assert gradients[operand] == pytest.approx(slopes, rel=1e-6, abs=1e-7), operand


def test_rotation_keeps_lengths_and_leaves_the_first_position_as_it_is():
    kind = OPERATORS["op:rotary/1x6x1x8"].config
    x, _ = operands(kind)
    found = kind.forward(x, training=False)
    assert found[:, 0] == pytest.approx(x["x"][:, 0])
    assert np.abs(found[:, 1] - x["x"][:, 1]).max() > 0.1
    assert (found**2).sum(-1) == pytest.approx((x["x"] ** 2).sum(-1))


def test_a_position_attends_to_none_behind_it_and_heads_of_a_group_share_keys():
    kind = OPERATORS["op:grouped_attention/1x5x5x4x2x8"].config
    x, _ = operands(kind)
    found = kind.forward(x, training=False)
    changed = {**x, "value": x["value"].copy()}
    changed["value"][:, 3, 8:] += 1.0  # of the second group
    moved = np.abs(kind.forward(changed, training=False) - found)
    moved = moved.reshape(5, 4, 8).max(axis=-1) > 1e-6
    assert moved.tolist() == [[False] * 4] * 3 + [[False, False, True, True]] * 2


def test_the_last_position_attends_as_it_does_among_all():
    every = OPERATORS["op:grouped_attention/2x5x5x4x2x8"].config
    last = OPERATORS["op:grouped_attention/2x1x5x4x2x8"].config
    x, _ = operands(every)
    found = last.forward({**x, "query": x["query"][:, -1:]}, training=False)
    assert found == pytest.approx(every.forward(x, training=False)[:, -1:])
    small = [OPERATORS[name].proof["sizes"] for name in (
        "op:grouped_attention/1x96x96x4x2x8", "op:grouped_attention/1x1x96x4x2x8")]  # fmt: skip
    assert [(one["l"], one["t"]) for one in small] == [(12, 12), (1, 12)]


def test_each_call_has_operands_of_its_own():
    workload = resolve(case(SMALL["linear"], batch_size=3))
    assert [tensor.name for tensor in workload.tensors()] == [
        f"calls.{call}.{leaf}" for call in range(3) for leaf in ("weight", "bias")
    ]
    batch = workload.batch(3, seed=0)
    assert list(batch) == [f"{leaf}.{call}" for call in range(3) for leaf in ("x", "direction")]
    assert workload.batch(1, seed=0).keys() == batch.keys(), "it has no parts"
    answers = workload.answers(seed=0, batch=0)
    first, second = answers["output.0"], answers["output.1"]
    assert np.abs(first - second).max() > 0.1
    assert answers["gradient.calls.2.weight"].shape == (5, 4)


def test_inference_has_no_gradients():
    workload = resolve(case(SMALL["linear"], mode="inference"))
    assert list(workload.batch(1, seed=0)) == ["x.0"]
    assert list(workload.answers(seed=0, batch=0)) == ["output.0"]


def test_batch_norm_infers_by_its_running_statistics():
    kind = OPERATORS[SMALL["batch_norm"]].config
    x, _ = operands(kind)
    shifted = {**x, "running_mean": x["running_mean"] + 1}
    assert kind.forward(shifted, training=True) == pytest.approx(kind.forward(x, training=True))
    gap = kind.forward(x, training=False) - kind.forward(shifted, training=False)
    assert (gap / x["weight"][:, None, None] > 0.9).all()


def test_proofs_are_small_and_keep_what_an_operator_is():
    workload = OPERATORS["op:conv2d/32x64x56x56-o64-k3-s2-p1-g32"]
    proof = workload.resized(**workload.proof["sizes"]).config
    assert (proof.n, proof.h, proof.w) == (2, 14, 14)
    whole = replace(proof, n=32, h=56, w=56)
    assert whole == workload.config


def test_a_proof_of_what_cannot_be_small_is_whole():
    workload = OPERATORS["op:conv2d/1x1x32x32-o1-k31"]
    assert workload.proof["sizes"] == {}


def test_work_is_counted():
    product = OPERATORS["op:matmul/2x3x5"]
    assert product.forward_flops() == 60
    assert product.flops(training=True) == 180
    assert product.moved_bytes(training=False) == 4 * (6 + 15 + 10)
    assert product.moved_bytes(training=True) == 4 * (2 * (6 + 15 + 10) + 6 + 15)
    assert OPERATORS["op:conv2d/2x4x8x8-o6-k3-p1-g2"].forward_flops() == 2 * 2 * 6 * 64 * 2 * 9
    assert OPERATORS["op:grouped_attention/2x3x3x4x2x8"].forward_flops() == 4 * 2 * 4 * 9 * 8
    bag = OPERATORS["op:embedding_bag/3x2x100x8"]
    assert bag.moved_bytes(training=False) == 4 * (6 + 6 * 8 + 3 * 8), "rows that it reads"
    assert OPERATORS["op:relu/3x5"].forward_flops() == 0


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("op:magic/3", "there is no operator 'magic'"),
        ("op:matmul/3x4", "should be like op:matmul/MxKxN"),
        ("op:matmul/3x4x0", "each a whole number"),
        ("op:matmul/3x4x5-k2", "should be like"),
        ("op:conv2d/1x3x8x8-k3", "should be like op:conv2d/NxCxHxW-oFILTERS-kKERNEL.-sSTRIDE"),
        ("op:conv2d/1x3x8x8-o4-k3-k3", "should be like"),
        ("op:conv2d/1x3x8x8-o4-k3-g2", "3 channels and 4 filters cannot be divided into 2 groups"),
        ("op:conv2d/1x3x8x8-o4-k9", "a kernel of 9 does not fit 8x8"),
        ("op:conv2d/1x3x8x8-o4-k3-s0", "must be 1 or more"),
        ("op:linear/3x4x5-b2", "one bias, or none with -b0, not 2"),
        ("op:rotary/1x4x2x5", "a head of 5 channels cannot be split into pairs"),
        ("op:grouped_attention/1x4x4x4x3x8", "4 heads cannot share 3 heads"),
        ("op:grouped_attention/1x2x4x4x2x8", "all 4 positions or only the last one"),
        ("op:max_pool/1x3x8x8-k3-p2", "more than half the kernel size, 3"),
    ],
)
def test_a_name_that_is_none_says_why(name, said):
    with pytest.raises(ValueError, match=said):
        OPERATORS[name]
