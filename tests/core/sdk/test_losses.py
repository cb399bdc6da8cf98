"""Losses that the SDK builds from an adapter's cross entropy, and optimizers that it resets."""

from __future__ import annotations

import numpy as np
import pytest
from mbench_tiny import TINY

from mbench.contract.precision import PRECISIONS
from mbench.sdk.losses import loss_of
from mbench.sdk.optimizer import UpdateBase


def cross_entropy(logits, labels):
    """Returns a number that shows which logits and labels it was given."""
    return 10.0 * logits + labels


@pytest.mark.parametrize(
    ("family", "outputs", "batch", "due"),
    [
        ("resnet", {"logits": 1.0}, {"labels": 2.0}, 12.0),
        ("gpt2", {"logits": 3.0}, {"labels": 1.0}, 31.0),
        ("googlenet", {"logits": 1.0, "aux1_logits": 2.0, "aux2_logits": 3.0}, {"labels": 0.0},
         10 + 0.3 * 20 + 0.3 * 30),
        ("inception", {"logits": 1.0, "aux_logits": 2.0}, {"labels": 1.0}, 11 + 0.4 * 21),
        ("bert", {"mlm_logits": 1.0, "nsp_logits": 2.0},
         {"masked_labels": 3.0, "next_sentence_labels": 4.0}, 13 + 24.0),
        ("given", {"outputs": np.array([[1.0, 2.0], [3.0, 4.0]])},
         {"directions": np.array([[1.0, 1.0], [0.5, 0.25]])}, (3 + 2.5) / 2),
    ],
    ids=str,
)  # fmt: skip
def test_the_loss_of_a_family(family, outputs, batch, due):
    assert loss_of(family, cross_entropy, outputs, batch) == pytest.approx(due, rel=1e-15)


class Momentum(UpdateBase):
    def build(self):
        self.velocity, self.steps = np.full(3, 7.0), np.zeros((), np.int64)

    def kept(self):
        return self.velocity, self.steps


def test_an_optimizer_goes_back_to_what_it_was_built_with_in_place():
    update = Momentum(TINY, {}, PRECISIONS["fp64"], None)
    velocity, steps = update.velocity, update.steps
    for _ in range(2):
        velocity += 1
        steps += 5
        update.reset()
        assert update.velocity is velocity
        assert (velocity.tolist(), int(steps)) == ([7.0] * 3, 0)


def test_one_that_names_no_tensors_says_what_it_must_do():
    class Forgetful(UpdateBase):
        def build(self):
            pass

    with pytest.raises(NotImplementedError, match="Forgetful must go back to its start"):
        Forgetful(TINY, {}, PRECISIONS["fp64"], None)
