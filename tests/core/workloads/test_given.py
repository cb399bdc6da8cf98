"""The model whose gradients are given."""

from __future__ import annotations

import numpy as np
from cases import make_case

from mbench.proofs.proof_case import given_case, proof_work
from mbench.scenarios.find import resolve
from mbench.workloads.given import GIVEN


def test_its_gradients_are_those_of_its_loss():
    weights = {name: array.astype(float) for name, array in GIVEN.parameters(seed=0)}
    batch = {name: array.astype(float) for name, array in GIVEN.batch(1, seed=5).items()}

    def loss(weights):
        outputs = batch["inputs"] @ weights["linear.weight"].T + weights["linear.bias"]
        return (outputs * batch["directions"]).sum(axis=1).mean()

    for name, gradient in GIVEN.gradients(seed=5).items():
        moved = {**weights, name: weights[name] + gradient}
        assert np.isclose(loss(moved) - loss(weights), np.sum(gradient**2))


def test_its_gradients_are_exact_in_eight_bits():
    for gradient in GIVEN.gradients(seed=3).values():
        mantissas = np.frexp(gradient)[0] * 2**8
        assert (mantissas == mantissas.round()).all()
        assert gradient.all()


def test_it_stands_in_a_models_place_with_its_optimizer():
    case = make_case()
    work = proof_work(case, learning_rate=0.5)
    workload = resolve(given_case(case), work)
    assert workload.family == "given"
    assert workload.optimizer == resolve(case, work).optimizer
    assert workload.optimizer.learning_rate == 0.5
