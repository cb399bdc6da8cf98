"""Which images blocks read: each once per epoch, in a new order and with new crops."""

from __future__ import annotations

from contextlib import nullcontext
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest

from mbench.contract.feed import SHARES
from mbench.measure import parts
from mbench.measure.feeding import Samples, unlike_ids


def test_an_epoch_has_each_file_once_and_the_next_has_another_order_and_other_crops():
    samples = Samples(files=100, trains=True)
    ids, boxes, flips = samples.at(0, 0, 200)
    assert sorted(ids[:100]) == sorted(ids[100:]) == list(range(100))
    assert (ids[:100] != ids[100:]).any()
    first = boxes[np.argsort(ids[:100])]
    assert (first != boxes[100:][np.argsort(ids[100:])]).any(axis=1).mean() > 0.9
    assert 20 < flips[:100].sum() < 80
    assert (boxes[:, :2] + boxes[:, 2:] <= SHARES).all()
    assert (boxes[:, 2:] > 0).all()


def test_all_frameworks_get_the_same_samples_wherever_their_blocks_end():
    samples = Samples(files=7, trains=True)
    whole = samples.at(1, 0, 40)
    parts = [samples.at(1, first, count) for first, count in ((0, 3), (3, 11), (14, 26))]
    for at in range(3):
        assert (np.concatenate([part[at] for part in parts]) == whole[at]).all()
    assert (samples.last(1, 4, 8)[0] == samples.last(1, 4, 8)[0]).all()
    assert (samples.at(2, 0, 40)[0] != whole[0]).any()


def test_inference_has_central_crops():
    _, boxes, flips = Samples(files=5, trains=False).at(0, 0, 5)
    assert not boxes.any()
    assert not flips.any()


def test_crops_cover_the_areas_of_the_usual_augmentation():
    boxes, _ = Samples(files=1, trains=True).crops(5000, 0)
    area = (boxes[:, 2] / SHARES) * (boxes[:, 3] / SHARES)
    assert area.min() > 0.07
    assert area.max() <= 1
    assert 0.4 < area.mean() < 0.6


@pytest.mark.parametrize(
    ("came", "said"),
    [
        ([1, 2], "1 of 3 timed samples are missing"),
        ([2, 1, 3], "another order"),
        ([1, 1, 3], "one file comes twice"),
        ([1, 2, 4], "other files were read"),
    ],
)
def test_other_samples_than_the_given_ones_are_named(came, said):
    assert said in unlike_ids([1, 2, 3], came)


def test_blocks_of_a_pipeline_are_longer_than_what_it_makes_ahead(monkeypatch):
    """20 batches are prepared and 12 of them timed: the block gets their share of CPU time."""
    spent = [SimpleNamespace(samples=[SimpleNamespace(worker_seconds=s) for s in (1.0, 3.0)])]
    monkeypatch.setattr(parts, "watching", lambda worker, sampler: nullcontext(spent))
    ran = []

    def run(steps):
        ran.append(steps)
        return SimpleNamespace(nanoseconds=[steps])

    feeder = SimpleNamespace(
        depth=3, process=0, alone_seconds=1.0, resident_seconds=1.0, take=lambda: None,
        give=lambda steps, alone: None, batches=20,
    )  # fmt: skip
    runner = SimpleNamespace(
        worker=SimpleNamespace(run=run), entry=SimpleNamespace(number=0),
        evidence=SimpleNamespace(made=lambda steps: None),
    )  # fmt: skip
    recorded = []
    store = SimpleNamespace(append=recorded.append)
    parts.time_parts(runner, feeder, store, None, Random(0), seconds=1.0, round_number=0)
    assert sorted(ran) == [1, 12]
    assert {one.part: one.steps for one in recorded} == {"step": 1, "pipeline": 12}
    seconds = {one.part: one.worker_seconds for one in recorded}
    assert seconds == {"step": 2.0, "pipeline": pytest.approx(2.0 * 12 / 20)}
