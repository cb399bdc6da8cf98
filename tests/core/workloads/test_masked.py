"""Masked sequences of two segments, and random crops: the data of tasks `bert` and `imagenet`."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mbench.contract.feed import SHARES
from mbench.contract.learning import Lesson, Schedule
from mbench.contract.workload import Optimizer
from mbench.workloads.crops import crop_boxes
from mbench.workloads.lessons import Feed, smoothed
from mbench.workloads.masked import FIRST_PIECE, SPECIAL, masked_batch

UNKNOWN, BEGIN, END, MASK = range(len(SPECIAL))
COUNT, WIDTH = 4000, 29
ADAM = Optimizer(rule="adamw", learning_rate=1e-3)


@pytest.fixture(scope="module")
def drawn():
    """Sequences from windows of even tokens; a second segment from elsewhere has odd ones."""
    windows = np.tile(np.arange(WIDTH) * 2 + 100, (COUNT, 1))
    return masked_batch(windows, windows + 1, predictions=5, pieces=5000, key="test")


def test_segments_follow_each_other_half_of_the_time(drawn):
    ids, types = drawn["input_ids"], drawn["token_type_ids"]
    assert (ids[:, 0] == BEGIN).all()
    assert (ids[:, -1] == END).all()
    ends = (ids == END).sum(axis=1)
    assert (ends == 2).all()
    first = (ids == END).argmax(axis=1)
    assert (types.sum(axis=1) == WIDTH + 2 - first).all(), "the second segment, with its end"
    assert set((first - 1).tolist()) == set(range(7, WIDTH - 7 + 1)), "a quarter at least"
    whole = ids.copy()
    np.put_along_axis(whole, drawn["masked_positions"], drawn["masked_labels"], axis=1)
    odd = (whole % 2 == 1) & (whole >= 100) & (types == 1)
    other = drawn["next_sentence_labels"]
    assert other.mean() == pytest.approx(0.5, abs=0.04)
    assert not odd[other == 0].any()
    assert odd[other == 1].any(axis=1).all()


def test_tokens_are_masked_as_the_original_does(drawn):
    ids, places, labels = (
        drawn[name] for name in ("input_ids", "masked_positions", "masked_labels")
    )
    assert (np.diff(places, axis=1) > 0).all()
    shown = np.take_along_axis(ids, places, axis=1)
    assert not ((shown == BEGIN) | (shown == END)).any()
    assert (labels >= 100).all()
    assert (shown == MASK).mean() == pytest.approx(0.8, abs=0.01)
    assert (shown == labels).mean() == pytest.approx(0.1, abs=0.01)
    others = shown[(shown != MASK) & (shown != labels)]
    assert len(others) / shown.size == pytest.approx(0.1, abs=0.01)
    assert others.min() >= FIRST_PIECE
    assert others.max() > 4900
    counts = np.bincount(places.ravel(), minlength=WIDTH + 3)
    assert counts[1] > 0.8 * counts[5]


def test_a_text_is_fed_as_masked_sequences(tmp_path):
    np.save(tmp_path / "train_inputs.npy", np.arange(4, 404, dtype=np.uint16))
    np.save(tmp_path / "test_inputs.npy", np.arange(4, 64, dtype=np.uint16))
    np.save(tmp_path / "vocabulary.npy", np.frombuffer(b"\n" * 499, np.uint8))
    lesson = Lesson(
        batch_size=3, steps=20, optimizer=ADAM, schedule=Schedule(), inputs="input_ids",
        sequence_length=16, predictions=2,
    )  # fmt: skip
    feed = Feed(lesson, str(tmp_path), seed=0)
    assert (feed.pieces, feed.length, feed.count("train")) == (500, 13, (400 - 1 - 12) // 13)
    one, again = feed.batch(0), Feed(lesson, str(tmp_path), seed=0).batch(0)
    assert all((one[name] == again[name]).all() for name in one)
    other = Feed(lesson, str(tmp_path), seed=1).batch(0)
    assert any((one[name] != other[name]).any() for name in one)
    held = [list(Feed(lesson, str(tmp_path), seed=seed).held_out(3)) for seed in (0, 1)]
    assert [len(labels) for _, labels in held[0]] == [3, 1]
    for (batch, labels), (same, _) in zip(*held, strict=True):
        assert (batch["input_ids"] == same["input_ids"]).all(), "the same masks for all seeds"
        assert (labels == batch["masked_labels"][: len(labels)]).all()


def test_the_first_layers_have_a_smaller_batch_and_its_rate():
    lesson = Lesson(
        batch_size=256, steps=1000, optimizer=dataclasses.replace(ADAM, learning_rate=0.256),
        schedule=Schedule(), config={"layers": 12}, sequence_length=128, predictions=19,
        proof_batch=4, proof_config={"layers": 2, "sequence_length": 32, "predictions": 5},
    )  # fmt: skip
    small = lesson.squeezed()
    assert (small.batch_size, small.steps, small.examples) == (4, 20, 42)
    assert small.optimizer.learning_rate == pytest.approx(0.004)
    assert (small.sequence_length, small.predictions, small.config["layers"]) == (32, 5, 2)
    assert lesson.reduced().steps == 1000


@pytest.mark.parametrize("mixup", [0.0, 0.2])
def test_shares_of_a_thousand_classes_add_up_to_one(mixup):
    lesson = Lesson(
        batch_size=4, steps=20, optimizer=ADAM, schedule=Schedule(), classes=1000, smoothing=0.1,
        mixup=mixup,
    )  # fmt: skip
    shares = smoothed(np.arange(4), lesson)
    assert (shares.astype(np.float64).sum(axis=1) == 1).all()
    assert shares[0, 1] * 1000 == pytest.approx(0.1, rel=0.01)


def test_crops_are_of_any_area_and_ratio():
    boxes, flips = crop_boxes("test", 20_000)
    top, left, tall, wide = boxes.T.astype(float)
    assert boxes.min() >= 0
    assert max((top + tall).max(), (left + wide).max()) <= SHARES
    area = tall * wide / SHARES**2
    assert area.min() >= 0.075
    assert np.mean(area) == pytest.approx(0.54, abs=0.02)
    free = area < 0.5  # the others may not fit
    ratios = np.log(tall / wide)[free]
    assert np.abs(ratios).max() == pytest.approx(np.log(4 / 3), abs=1e-3)
    assert ratios.mean() == pytest.approx(0, abs=0.02)
    assert flips.mean() == pytest.approx(0.5, abs=0.02)
    assert (crop_boxes("test", 5)[0] == crop_boxes("test", 5)[0]).all()
