"""A worker that trains: what it is fed, its learning rates, and how the model is evaluated."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from mbench_tiny import TINY, Runtime

from mbench.contract import learning
from mbench.contract.adapter import Unsupported
from mbench.contract.case import Case
from mbench.contract.learning import Lesson, Schedule
from mbench.contract.workload import Optimizer
from mbench.sdk.optimizer import UpdateBase
from mbench.worker.learning import Lessons
from mbench.workloads.lessons import Feed

CASE = Case(
    model="tiny-model", workload="mbench_tiny:TINY", mode="train", batch_size=1, precision="fp64",
    compiler="eager", device="cpu", threads=1,
)  # fmt: skip
SGD = Optimizer(rule="sgd", learning_rate=0.5, momentum=0.9)
LESSON = Lesson(
    batch_size=8, steps=12, optimizer=SGD, schedule=Schedule(shape="cosine", warmup=0.25),
    inputs="features", classes=4, spread=255.0,
)  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    """A folder with images of 16 x 16 pixels, whose label is their brightest quarter."""
    random = np.random.default_rng(0)
    for part, count in (("train", 50), ("test", 21)):
        labels = random.integers(4, size=count)
        images = random.integers(60, size=(count, 1, 16, 16), dtype=np.uint8)
        for image, label in zip(images, labels, strict=True):
            image[0, 8 * (label // 2) :, 8 * (label % 2) :][:8, :8] += 100
        np.save(tmp_path / f"{part}_inputs.npy", images)
        np.save(tmp_path / f"{part}_labels.npy", labels.astype(np.uint8))
    return str(tmp_path)


def lessons(folder, lesson=LESSON, **changes):
    message = learning.PrepareLesson(
        case=CASE, lesson=lesson, data=folder, seed=3, steps=lesson.steps
    )
    return Lessons(Runtime(device="cpu", threads=1), dataclasses.replace(message, **changes))


def by_hand(feed, lesson, steps):
    """Softmax regression with momentum, as the lesson says."""
    start = {name: array.astype(float) for name, array in TINY.parameters(seed=3)}
    weights = {name: array.copy() for name, array in start.items()}
    moved = {name: np.zeros_like(array) for name, array in weights.items()}
    losses = []
    for step in range(steps):
        batch = feed.batch(step)
        x, labels = batch["features"].astype(float), batch["labels"]
        if labels.ndim == 1:
            labels = np.eye(lesson.classes)[labels]
        shares = np.zeros((len(x), 64))
        shares[:, : lesson.classes] = labels
        chances = np.exp(x @ weights["weight"].T + weights["bias"])
        chances /= chances.sum(axis=1, keepdims=True)
        losses.append(-(shares * np.log(chances)).sum(axis=1).mean())
        error = (chances - shares) / len(x)
        rate = 0.5 * lesson.schedule.rate(step, lesson.steps)
        for name, gradient in (("weight", error.T @ x), ("bias", error.sum(axis=0))):
            decay = lesson.optimizer.weight_decay
            spared = name == "bias"  # the model says so
            gradient = gradient + (0 if spared else decay) * weights[name]
            moved[name] = 0.9 * moved[name] + gradient
            weights[name] -= rate * moved[name]
    return losses, {name: weights[name] - start[name] for name in weights}


@pytest.mark.parametrize("changes", [
    {},
    {"smoothing": 0.1, "mixup": 0.2, "shift": 2, "flip": True},
    {"schedule": Schedule(shape="step", milestones=[0.5, 0.75])},
    {"optimizer": dataclasses.replace(SGD, weight_decay=0.1)},
])  # fmt: skip
def test_steps_are_those_of_the_lesson(folder, changes):
    lesson = dataclasses.replace(LESSON, **changes)
    trained = lessons(folder, lesson)
    first = trained.learn(learning.Learn(count=5))
    second = trained.learn(learning.Learn(count=7))
    losses, moved = by_hand(Feed(lesson, folder, seed=3), lesson, 12)
    assert [*first.losses, *second.losses] == pytest.approx(losses, rel=1e-12)
    assert first.nanoseconds > 0
    for name, sketch in trained.sketch(learning.SketchTensors()).changes.items():
        assert sketch[0] == pytest.approx(np.linalg.norm(moved[name]), rel=1e-10)


def test_a_trained_model_is_evaluated_on_held_out_data_and_goes_on_as_it_was(folder):
    trained, undisturbed = lessons(folder), lessons(folder)
    before = trained.evaluate(learning.EvaluateModel())
    trained.learn(learning.Learn(count=6))
    after = trained.evaluate(learning.EvaluateModel())
    assert before.labels == after.labels == 21, "the last batch has 5 that count, filled up to 8"
    assert after.correct > before.correct
    assert after.loss < before.loss
    some = trained.evaluate(learning.EvaluateModel(examples=8))
    assert some.labels == 8
    assert some.logits == after.logits, "the first batch is the same"
    undisturbed.learn(learning.Learn(count=6))
    assert trained.sketch(None) == undisturbed.sketch(None)


def test_a_nudged_start_differs_by_a_unit_in_the_last_place(folder):
    case = dataclasses.replace(CASE, precision="fp32")
    one = lessons(folder, case=case)
    other = lessons(folder, case=case, nudged=1)
    norms = {tensor.name: tensor.initial_norm for tensor in TINY.tensors()}
    assert all(sketch[0] == 0 for sketch in one.sketch(None).changes.values())
    for name, sketch in other.sketch(None).changes.items():
        assert 0 < sketch[0] < 1e-6 * norms[name]
    losses = [each.learn(learning.Learn(count=12)).losses for each in (one, other)]
    assert losses[0] != losses[1]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def test_an_adapter_that_keeps_its_rate_trains_no_tasks(folder, monkeypatch):
    monkeypatch.setattr("mbench_tiny.Update.set_learning_rate", UpdateBase.set_learning_rate)
    with pytest.raises(Unsupported, match="cannot change the learning rate"):
        lessons(folder)


def test_losses_that_are_not_finite_are_none(folder):
    wild = dataclasses.replace(LESSON, optimizer=dataclasses.replace(SGD, learning_rate=1e308))
    with np.errstate(all="ignore"):
        trained = lessons(folder, wild)
        losses = trained.learn(learning.Learn(count=12)).losses
    assert losses[0] is not None
    assert losses[-1] is None
