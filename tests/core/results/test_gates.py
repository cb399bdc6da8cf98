"""Gates of timed processes, tested on differences that were observed with ResNet-18 in PyTorch: of
honest frameworks and compilers, and of lies (benchmarks/liars/coarse.py).
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from cases import make_case
from evidenced import losses, make_process, make_record, said

from mbench.measure.facts import gates
from mbench.results.evidence import Rounding
from mbench.results.validity import unlikeness

SKETCH = (3.0, 1.0, -1.0, 2.0, 0.5, 1.5)


def moved(norm, direction):
    """A sketch that differs from SKETCH by these fractions of its norm."""
    length, first, *rest = SKETCH
    return (length * (1 + norm), first + direction * length, *rest)


def record(precision, *, mode="train", rounding=None, label="tiny", step=16, norm=0.0, apart=0.0):
    """A case of one process: with changes after a step in training, else with outputs."""
    case = make_case(precision=precision, mode=mode)
    if mode == "train":
        process = make_process(changes=[(step, moved(norm, apart))])
    else:
        steps = losses(range(9, 17), lambda step: None)
        process = make_process(losses=steps, outputs=[moved(0.0, apart)] * len(steps))
    made = make_record(process, label=label, gates=gates(case))
    made.planned = replace(made.planned, axes=case)
    made.nudges = [Rounding(**rounding)] if rounding else []
    return made


def judged(precision, rounding, **of_other):
    mode = of_other.get("mode", "train")
    usual = record(precision, mode=mode, rounding=rounding, step=of_other.get("step", 16))
    return said(usual, record(precision, rounding=rounding, label="other", **of_other))


FP32 = {"answers": 1e-7, "norm": 1.2e-5, "tensor": 1.4e-4, "direction": 1.9e-3}
BF16 = {"answers": 1.2e-3, "norm": 3e-2, "tensor": 0.21, "direction": 8.4e-2}
OUTPUTS = {"answers": 1.4e-2}


@pytest.mark.parametrize(
    ("precision", "rounding", "step", "norm", "direction"),
    [
        ("fp32", None, 16, 2e-5, 7e-3),  # ResNet-50
        ("fp32", FP32, 4, 5e-7, 2.6e-3),
        ("fp32", {"answers": 0.0, "norm": 1e-3, "direction": 1.3e-2}, 16, 1e-3, 2e-2),  # ShuffleNet
        ("amp-bf16", None, 4, 7.5e-4, 0.17),
        ("amp-bf16", None, 16, 2e-4, 0.24),  # ResNet-50
        ("bf16", None, 16, 3.8e-3, 4.9e-2),
        ("bf16", BF16, 4, 6.1e-2, 0.15),
    ],
)
def test_updates_of_honest_frameworks_agree(precision, rounding, step, norm, direction):
    assert judged(precision, rounding, step=step, norm=norm, apart=direction) == []


@pytest.mark.parametrize(
    ("precision", "rounding", "step", "norm", "direction"),
    [
        ("fp32", None, 4, 1.4e-3, 2.2e-2),  # the backward pass in bfloat16
        ("fp32", FP32, 4, 1.4e-3, 2.2e-2),
        ("amp-bf16", None, 16, 0.1, 0.12),  # labels are smoothed by 0.1
        ("bf16", None, 16, 0.15, 0.23),
        ("bf16", BF16, 16, 0.15, 0.23),
        ("bf16", BF16, 4, 1.0, 1.4),  # Nesterov's momentum
        ("bf16", BF16, 16, 0.12, 0.45),  # the last block is left out
    ],
)
def test_updates_of_other_arithmetic_and_rules_are_told(precision, rounding, step, norm, direction):
    found = judged(precision, rounding, step=step, norm=norm, apart=direction)
    assert found
    assert found[0].startswith("other: updates, by "), "and by name, not as what rounding may do"


@pytest.mark.parametrize("precision", ["amp-bf16", "bf16"])
@pytest.mark.parametrize(
    ("apart", "told"),
    [(6.3e-3, False), (1.6e-2, True), (5.9e-2, True), (8.6e-2, True), (0.31, True)],
    ids=["honest", "int8", "fp8", "skip-block", "half-width"],
)
def test_outputs_lie_as_far_apart_as_a_unit_carries_them(precision, apart, told):
    found = judged(precision, OUTPUTS, mode="inference", apart=apart)
    assert bool(found) is told
    if told:
        assert found[0].startswith("other: output logits of ")


def test_outputs_of_all_batches_together_have_a_gate_of_their_own():
    (found,) = judged("bf16", OUTPUTS, mode="inference", apart=0.9 * OUTPUTS["answers"])
    assert "of all batches together, as timed, off by 0.013 (gate 0.011)" in found


@pytest.mark.parametrize(("apart", "hidden"), [(0.07, 0), (0.12, 1)])
def test_beyond_the_gate_of_the_proof_outputs_of_a_sensitive_case_prove_nothing(apart, hidden):
    one, other = (
        record("bf16", mode="inference", rounding={"answers": 1.0}, apart=far)
        for far in (0.0, apart)
    )
    told, blurred = unlikeness(one, other)
    assert not told
    assert len(blurred) == hidden


@pytest.mark.parametrize("fine", ["fp32", "amp-bf16"])
def test_of_two_precisions_the_coarser_one_says_how_far_rounding_carries(fine):
    exact = record(fine, mode="inference", rounding={"answers": 1e-7 if fine == "fp32" else 1e-2})
    rough = record("bf16", mode="inference", rounding=OUTPUTS, apart=6e-3)
    assert said(exact, rough) == said(rough, exact) == []
