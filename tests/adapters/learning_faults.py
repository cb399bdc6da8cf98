"""Faults of training loops, planted into a worker's lessons; each is caught by a layer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mbench.sdk.optimizer import spared_by
from mbench.workloads.lessons import Feed

__all__ = ["FAULTS", "OF_RECIPES", "plant"]


def no_momentum(lessons):
    update = lessons.model.update
    rates = update.set_learning_rate
    update.set_learning_rate = lambda rate: (update.reset(), rates(rate))[1]


def wrong_labels(lessons):
    """Makes one label in a hundred wrong."""
    feed, count = lessons.model.feed, iter(range(10**9))

    def fed(at, batch):
        labels = batch["labels"].copy()
        for place in range(len(labels)):
            if next(count) % 100 == 99:
                labels[place] = (
                    np.roll(labels[place], 1) if labels.ndim > 1 else (labels[place] + 1) % 10
                )
        feed(at, {**batch, "labels": labels})

    lessons.model.feed = fed


def another_start(lessons):
    lessons.model.load_parameters(lessons.trainer.work.workload.parameters(seed=lessons.seed + 1))


def other_feed(**changes):
    def plant(lessons):
        lesson = replace(lessons.lesson, **changes)
        lessons.feed = Feed(lesson, lessons.folder, seed=lessons.seed)

    return plant


def not_smoothed(lessons):
    """Labels are not smoothed, but stay shares of classes."""
    other_feed(smoothing=0.0, mixup=lessons.lesson.mixup or 1e-9)(lessons)


def in_order(lessons):
    feed, size = lessons.feed, lessons.lesson.batch_size
    feed.chosen = lambda step: np.arange(step * size, (step + 1) * size) % feed.examples


def last_batch_dropped(lessons):
    """An epoch has one batch fewer than on the other side."""
    lessons.feed.per_epoch -= 1


def late_schedule(lessons):
    lessons.rates = [lessons.rates[0], *lessons.rates[:-1]]


def decay_on_vectors(lessons):
    """Decays tensors that should be spared. The rule adds decay to gradients; here it is subtracted
    from the tensors after a step, by their values before it.
    """
    step, decay = lessons.step, lessons.lesson.optimizer.weight_decay
    spared = spared_by(lessons.trainer.work.workload)

    def stepped(batches):
        rate = lessons.rates[lessons.done]
        kept = {name: array.copy() for name, array in lessons.model.parameters() if name in spared}
        step(batches)
        now = dict(lessons.model.parameters())
        for name, native in lessons.model.natives().items():
            if native.trainable and name in spared:
                native.assign(now[name] - rate * decay * kept[name])

    lessons.step = stepped


def evaluated_on_training_data(lessons):
    evaluator = lessons.evaluator.benchmark
    feed, training = evaluator.feed, lessons.feed.batch(0)

    def fed(at, batch):
        images = training[lessons.lesson.inputs]
        feed(at, {**batch, lessons.lesson.inputs: images})

    evaluator.feed = fed


FAULTS = {
    "momentum forgotten": (no_momentum, "losses"),
    "one percent of labels wrong": (wrong_labels, "losses"),
    "another seed's start": (another_start, "losses"),
    "augmentation off": (other_feed(shift=0), "losses"),
    "evaluation on training data": (evaluated_on_training_data, "logits before training"),
    "shuffling forgotten": (in_order, "losses"),
    "schedule off by one step": (late_schedule, "losses"),
    "smoothing forgotten": (not_smoothed, "losses"),
    "decay on norms": (decay_on_vectors, "losses"),
    "last incomplete batch dropped on one side": (last_batch_dropped, "losses"),
}
"""Each fault with the function that plants it, and one answer of the first layer that shows it."""
OF_RECIPES = ("schedule off by one step", "decay on norms", "smoothing forgotten")
"""Faults that every recipe can have; the last one only a recipe of images can have."""


def plant(name, lessons):
    FAULTS[name][0](lessons)
