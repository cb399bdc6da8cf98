"""Updates as operators: what their names say, which gradients are given, and what is moved."""

from __future__ import annotations

import numpy as np
import pytest
from cases import make_case

from mbench.proofs.changes import updated
from mbench.scenarios.find import resolve
from mbench.workloads.operators import OPERATORS
from mbench.workloads.operators.updates import UPDATES, gradient_of


def workload(name, *, batch_size=2, **changes):
    return resolve(make_case(
        model=name, workload="mbench.workloads.operators:OPERATORS", batch_size=batch_size,
        **changes,
    ))  # fmt: skip


@pytest.mark.parametrize("kind", UPDATES)
def test_each_is_trained_by_its_own_rule(kind):
    made = workload(f"op:{kind}/50")
    assert made.optimizer.rule == kind
    assert [(one.name, one.shape) for one in made.tensors()] == [
        ("calls.0.weight", (50,)), ("calls.1.weight", (50,)),
    ]  # fmt: skip
    assert made.parameter_count() == 100


def test_gradients_are_given_and_exact_in_eight_bits():
    made = workload("op:sgd/5000")
    batch = made.batch(2, seed=3)
    assert list(batch) == ["gradient.0", "gradient.1"]
    for array in batch.values():
        assert array.dtype == np.float32
        assert (np.abs(array) >= 1).all()
        assert (np.abs(array) <= 2).all()
        np.testing.assert_array_equal(array * 64, np.round(array * 64))
        assert 0.4 < (array > 0).mean() < 0.6
    assert not np.array_equal(batch["gradient.0"], made.batch(2, seed=4)["gradient.0"])
    given = made.gradients(seed=3)
    np.testing.assert_array_equal(given["calls.1.weight"], batch["gradient.1"])
    assert gradient_of("calls.1.weight") == "gradient.1"


@pytest.mark.parametrize("kind", UPDATES)
def test_a_step_is_its_definition_number_by_number(kind):
    """One number is followed over three steps, by the formulas as they are printed."""
    made = workload(f"op:{kind}/5", batch_size=1)
    rule = made.optimizer
    weights = dict(made.parameters(seed=0))
    gradients = [made.gradients(seed=seed) for seed in range(3)]
    decays = dict.fromkeys(weights, rule.weight_decay)
    *_, found = updated(rule, weights, decays, gradients)
    w, v, m, s = float(weights["calls.0.weight"][2]), 0.0, 0.0, 0.0
    for step, of_step in enumerate(gradients, start=1):
        g = float(of_step["calls.0.weight"][2])
        if kind == "sgd":
            v = 0.9 * v + (g + 1e-4 * w)
            w -= 1e-4 * v
            continue
        m, s = 0.9 * m + 0.1 * g, 0.999 * s + 0.001 * g * g
        w -= 1e-5 * 1e-2 * w
        w -= 1e-5 * (m / (1 - 0.9**step)) / ((s / (1 - 0.999**step)) ** 0.5 + 1e-8)
    assert found["calls.0.weight"][2] == pytest.approx(w, rel=1e-14)


def test_what_is_moved_is_parameter_gradient_and_moments():
    assert workload("op:sgd/50").moved_bytes(training=True, number_bytes=4) == 5 * 4 * 50
    assert workload("op:adamw/50").moved_bytes(training=True, number_bytes=2) == 7 * 2 * 50
    assert workload("op:sgd/50").flops(training=True) == 0


def test_proofs_are_small_and_their_updates_large():
    proof = OPERATORS["op:adamw/25000000"].proof
    assert proof == {"batch_size": 2, "sizes": {"elements": 4096}, "learning_rate": 4.0}
