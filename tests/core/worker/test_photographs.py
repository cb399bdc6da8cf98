"""Batches of a lesson from an input pipeline: what the pipeline is asked for, and what it gives."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mbench.contract.case import Case
from mbench.contract.learning import Lesson, Schedule
from mbench.contract.workload import Optimizer
from mbench.worker.photographs import PhotographFeed

LESSON = Lesson(
    batch_size=4, steps=20, optimizer=Optimizer(rule="sgd", learning_rate=1.0), schedule=Schedule(),
    classes=3,
)  # fmt: skip


class Pipeline:
    """Its images are filled with their number; a plan must be used up before the next begins."""

    differences = ("images are numbers",)

    def __init__(self, source, lie):
        self.source, self.lie, self.rest, self.plans = source, lie, [], []

    def begin(self, plan):
        assert not self.rest, "the plan before was not taken whole"
        self.plans.append(plan)
        parts = list(plan.batches(self.source.batch_size))
        self.rest = [plan.ids[part] for part in parts]
        if self.lie == "short":
            self.rest.pop()

    def __next__(self):
        if not self.rest:
            raise StopIteration
        self.now = self.rest.pop(0) + (self.lie == "others")
        images = np.tile(self.now[:, None, None, None], (1, 3, 2, 2)).astype(np.float32)
        return {"images": images, "labels": self.source.labels[self.now] + (self.lie == "labels")}

    def ids(self):
        return self.now

    def close(self):
        self.rest = []


class Benchmark:
    def __init__(self, lie=""):
        self.lie = lie

    def files(self, source):
        self.pipeline = Pipeline(source, self.lie)
        return self.pipeline

    def pixels(self, batch):
        return batch["images"]

    def to_numpy(self, tensor):
        return tensor


@pytest.fixture
def fed(tmp_path, monkeypatch):
    monkeypatch.setattr("mbench.worker.photographs.confine", lambda threads: None)
    for name, count in (("a", 9), ("b", 9), ("c", 5)):
        (tmp_path / name).mkdir()
        for at in range(count):
            (tmp_path / name / f"{at}.jpg").write_bytes(b"")
    case = Case(
        model="m", workload="w", mode="train", batch_size=4, precision="fp32", compiler="eager",
        device="cpu", threads=1, data=str(tmp_path),
    )  # fmt: skip

    def make(*, lie="", seed=0, **changes):
        return PhotographFeed(
            dataclasses.replace(LESSON, **changes), Benchmark(lie), case, seed=seed, size=2
        )

    return make


def test_an_epoch_has_each_image_to_train_on_once(fed):
    feed = fed()
    assert (feed.count("train"), feed.count("test"), feed.per_epoch) == (20, 3, 5)
    batches = list(feed.batches(0, 5))
    seen = [int(one) for batch in batches for one in batch["images"][:, 0, 0, 0]]
    assert sorted(seen) == feed.folder.train.tolist()
    assert all((b["labels"] == feed.folder.labels[b["images"][:, 0, 0, 0].astype(int)]).all()
               for b in batches)  # fmt: skip
    (plan,) = feed.pipeline.plans
    assert len({tuple(box) for box in plan.boxes.tolist()}) == 20
    assert 0 < plan.flips.sum() < 20
    again = fed()
    assert [b["images"][:, 0, 0, 0].tolist() for b in again.batches(2, 2)] == [
        b["images"][:, 0, 0, 0].tolist() for b in batches[2:4]
    ]
    assert (again.pipeline.plans[0].boxes == plan.boxes[8:16]).all()
    assert (fed(seed=1).batch(0)["images"] != batches[0]["images"]).any()


def test_labels_are_smoothed_and_images_mixed_on_their_way(fed):
    smooth = fed(smoothing=0.1).batch(0)
    assert smooth["labels"].shape == (4, 3)
    assert (smooth["labels"].argmax(axis=1) == fed().batch(0)["labels"]).all()
    mixed = fed(smoothing=0.1, mixup=5.0)
    batches = list(mixed.batches(0, 5))
    assert (np.concatenate([b["labels"] for b in batches]).sum(axis=1) == 1).all()
    assert any((b["images"] % 1).any() for b in batches)


def test_held_out_images_are_central_crops_that_fill_a_batch(fed):
    feed = fed()
    ((batch, labels),) = feed.held_out(4)
    assert labels.tolist() == [0, 1, 2]
    numbers = batch["images"][:, 0, 0, 0].astype(int).tolist()
    assert numbers == [*feed.folder.test, feed.folder.test[0]]
    (plan,) = feed.pipeline.plans
    assert not plan.boxes.any()
    assert not plan.flips.any()


@pytest.mark.parametrize(("lie", "said"), [
    ("short", "ended before its last batch"),
    ("others", "images other than"),
    ("labels", "labels that do not match"),
])  # fmt: skip
def test_a_pipeline_that_gives_something_else_is_caught(fed, lie, said):
    with pytest.raises(ValueError, match=said):
        list(fed(lie=lie).batches(0, 3))
