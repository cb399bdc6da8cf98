"""The batches of a lesson: order, augmentation, smoothing, mixup, tokens; and schedules."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from mbench.contract.learning import Lesson, Schedule
from mbench.contract.workload import Optimizer
from mbench.workloads.lessons import Feed, beta

SGD = Optimizer(rule="sgd", learning_rate=1.0)
LESSON = Lesson(batch_size=4, steps=9, optimizer=SGD, schedule=Schedule(), classes=5)


@pytest.fixture
def folder(tmp_path):
    """18 images of 6 x 6 pixels, each filled with its number; its label is the number modulo 5."""
    for part, count in (("train", 18), ("test", 7)):
        numbers = np.arange(count, dtype=np.uint8)
        np.save(
            tmp_path / f"{part}_inputs.npy", np.tile(numbers[:, None, None, None], (1, 1, 6, 6))
        )
        np.save(tmp_path / f"{part}_labels.npy", numbers % 5)
    return str(tmp_path)


def shown(feed, steps):
    return [feed.batch(step)["images"][:, 0, 3, 3].astype(int).tolist() for step in steps]


def test_each_epoch_has_another_order_and_no_example_twice(folder):
    feed = Feed(LESSON, folder, seed=0)
    first, second = shown(feed, range(4)), shown(feed, range(4, 8))
    for epoch in (first, second):
        seen = [number for batch in epoch for number in batch]
        assert len(set(seen)) == len(seen) == 16, "what fills no batch is left out"
    assert first != second
    assert shown(Feed(LESSON, folder, seed=1), range(4)) != first
    assert shown(Feed(LESSON, folder, seed=0), reversed(range(4))) == first[::-1]
    batch = feed.batch(0)
    assert (batch["labels"] == batch["images"][:, 0, 0, 0] % 5).all()
    assert batch["labels"].dtype == np.int64
    assert batch["images"].dtype == np.float32


def test_augmentation_moves_and_mirrors(tmp_path):
    images = np.zeros((40, 1, 5, 5), np.uint8)
    images[:, 0, 1, 0] = 255
    for part in ("train", "test"):
        np.save(tmp_path / f"{part}_inputs.npy", images)
        np.save(tmp_path / f"{part}_labels.npy", np.zeros(40, np.uint8))
    lesson = dataclasses.replace(LESSON, batch_size=40, spread=255.0)

    def places(**changes):
        feed = Feed(dataclasses.replace(lesson, **changes), str(tmp_path), seed=0)
        found = feed.batch(0)["images"]
        return {tuple(int(n) for n in at) for image in found for at in np.argwhere(image[0] == 1)}

    assert places() == {(1, 0)}
    assert places(flip=True) == {(1, 0), (1, 4)}
    assert places(shift=1) == {(row, column) for row in (0, 1, 2) for column in (0, 1)}
    held = next(Feed(dataclasses.replace(lesson, flip=True), str(tmp_path), seed=0).held_out(40))
    assert (held[0]["images"][:, 0, 1, 0] == 1).all(), "held-out data stay as they are"


def test_smoothing_and_mixup_make_shares_of_classes(folder):
    smooth = Feed(dataclasses.replace(LESSON, smoothing=0.1), folder, seed=0).batch(0)
    hard = Feed(LESSON, folder, seed=0).batch(0)
    assert (smooth["labels"].astype(np.float64).sum(axis=1) == 1).all()
    assert smooth["labels"].max(axis=1) == pytest.approx(0.92, abs=1e-3)
    assert (smooth["labels"].argmax(axis=1) == hard["labels"]).all()
    mixed = Feed(dataclasses.replace(LESSON, mixup=0.5), folder, seed=0).batch(0)
    share = float(beta("lesson/0/mixup/0", 0.5, grid=2**8))
    assert share * 2**8 == int(share * 2**8)
    assert sorted(mixed["labels"].max(axis=1))[-1] >= max(share, 1 - share) - 1e-6
    both = Feed(dataclasses.replace(LESSON, mixup=0.5, smoothing=0.1), folder, seed=0).batch(0)
    for batch in (mixed, both):
        assert (batch["labels"].astype(np.float64).sum(axis=1) == 1).all(), "exactly"


def test_shares_of_mixup_are_of_the_beta_distribution():
    drawn = [beta(f"test/{at}", 0.4, grid=2**8) for at in range(2000)]
    assert np.mean(drawn) == pytest.approx(0.5, abs=0.03)
    assert np.var(drawn) == pytest.approx(1 / (4 * (2 * 0.4 + 1)), rel=0.1)


def test_tokens_are_windows_whose_labels_follow(tmp_path):
    np.save(tmp_path / "train_inputs.npy", np.arange(100, dtype=np.uint8))
    np.save(tmp_path / "test_inputs.npy", np.arange(27, dtype=np.uint8))
    lesson = dataclasses.replace(
        LESSON, inputs="input_ids", sequence_length=8, classes=0, batch_size=3
    )
    feed = Feed(lesson, str(tmp_path), seed=0)
    assert feed.examples == (100 - 1 - 7) // 8
    seen = []
    for step in range(feed.per_epoch):
        batch = feed.batch(step)
        assert batch["input_ids"].shape == (3, 8)
        assert (batch["labels"] == batch["input_ids"] + 1).all()
        seen += batch["input_ids"][:, 0].tolist()
    assert len({start // 8 for start in seen}) == len(seen)
    held = list(feed.held_out(2))
    assert [len(labels) for _, labels in held] == [2, 1]
    assert [batch["input_ids"][:, 0].tolist() for batch, _ in held] == [[0, 8], [16, 0]]


def test_a_batch_that_is_larger_than_the_data_is_refused(folder):
    with pytest.raises(ValueError, match="a batch of 19 is more than the 18 examples"):
        Feed(dataclasses.replace(LESSON, batch_size=19), folder, seed=0)


def test_schedules():
    def rates(count=8, **words):
        return [round(Schedule(**words).rate(step, count), 4) for step in range(count)]

    assert rates(4) == [1, 1, 1, 1]
    assert rates(warmup=0.5) == [0.25, 0.5, 0.75, 1, 1, 1, 1, 1]
    assert rates(shape="linear", warmup=0.5) == [0.25, 0.5, 0.75, 1, 1, 0.75, 0.5, 0.25]
    assert rates(4, shape="cosine", final=0.2) == [
        round(0.2 + 0.4 * (1 + math.cos(math.pi * step / 4)), 4) for step in range(4)
    ]
    assert rates(shape="step", milestones=[0.25, 0.5]) == [1, 1, 0.1, 0.1, 0.01, 0.01, 0.01, 0.01]
