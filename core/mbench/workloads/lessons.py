"""The batches of a lesson: which examples each step gets, and how they are changed.

The core draws order, augmentation, smoothing and mixup identically for every framework, from arrays
written by the parent process. Shapes: B batch, C channels, H W pixels, K classes, L sequence.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

import numpy as np

from mbench.contract import generator
from mbench.workloads.masked import MARKS, masked_batch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mbench.contract.learning import Lesson

    Batch = dict[str, np.ndarray]

__all__ = ["TOKENS", "Feed", "Order"]

TOKENS = "input_ids"
FEW = 32
"""With at most this many classes, grids are GRIDS[True], otherwise GRIDS[False]."""
GRIDS = {True: (2**8, 2**15), False: (2**7, 2**17)}
"""Mixup shares are whole multiples of 1 / the first number, so every system rounds them to the same
bits. Smoothed shares are multiples of 1 / the second, so products of the two are multiples of
2**-24: they are exact in float32, and those of an example add up to exactly 1, which some
frameworks' gradients assume."""
UNMIXED = 2**22
"""The second number for many classes without mixup: 0.1 spread over 1000 classes is small."""


class Order:
    """Which examples each step gets."""

    def __init__(self, lesson: Lesson, examples: int, *, seed: int) -> None:
        self.lesson = lesson
        self.seed = seed
        self.examples = min(lesson.examples or examples, examples)
        self.per_epoch = self.examples // lesson.batch_size
        if not self.per_epoch:
            raise ValueError(
                f"a batch of {lesson.batch_size} is more than the {self.examples} examples"
            )
        self._epoch = -1
        self._order = np.arange(0)

    def chosen(self, step: int) -> np.ndarray:
        """The numbers of a step's examples. Each epoch shuffles all examples anew and leaves out an
        incomplete last batch.
        """
        epoch, at = divmod(step, self.per_epoch)
        if epoch != self._epoch:
            key = f"lesson/{self.seed}/order/{epoch}"
            self._order = generator.permutations(key, 1, self.examples)[0]
            self._epoch = epoch
        size = self.lesson.batch_size
        return self._order[at * size : (at + 1) * size]

    def softened(
        self, images: np.ndarray, labels: np.ndarray, step: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Images and labels as a step gets them. Labels are class numbers (B,) or, if smoothed or
        mixed, shares of classes (B, K). Mixup mixes images by the same share.
        """
        if not self.lesson.soft:
            return images, labels
        shares = smoothed(labels, self.lesson)
        return self.mixed(images, shares, step) if self.lesson.mixup else (images, shares)

    def mixed(
        self, images: np.ndarray, shares: np.ndarray, step: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mixes each example with another of its batch, all by one share, as in NVIDIA's mixup."""
        key = f"lesson/{self.seed}/mixup/{step}"
        share = np.float32(beta(key, self.lesson.mixup, grid=grids(self.lesson)[0]))
        other = generator.permutations(f"{key}/other", 1, len(images))[0]
        rest = np.float32(1) - share
        return share * images + rest * images[other], share * shares + rest * shares[other]


class Feed(Order):
    """The batches of a training run, by step, and of its evaluation, from arrays."""

    keeps = True
    """Whether held-out batches may be kept and fed again."""
    differences: Sequence[str] = ()

    def __init__(self, lesson: Lesson, folder: str, *, seed: int) -> None:
        """`folder` has train_inputs.npy and test_inputs.npy. For images, inputs are uint8
        (N, C, H, W), and there are train_labels.npy and test_labels.npy. Tokens are one row of
        integers; if they are masked, vocabulary.npy holds the bytes of each token, one per line.
        """
        names = ["train_inputs", "test_inputs"]
        if not lesson.sequence_length:
            names += ["train_labels", "test_labels"]
        if lesson.predictions:
            names.append("vocabulary")
        self.arrays = {
            name: np.load(os.path.join(folder, f"{name}.npy"), mmap_mode="r") for name in names
        }
        self.length = lesson.sequence_length - (MARKS if lesson.predictions else 0)
        """Tokens of text in a sequence."""
        super().__init__(lesson, self.count("train"), seed=seed)
        if lesson.predictions:
            self.pieces = 1 + int((self.arrays["vocabulary"] == ord("\n")).sum())

    def count(self, part: str) -> int:
        """Examples of a part; for tokens, sequences that do not overlap, whatever the offset."""
        inputs = self.arrays[f"{part}_inputs"]
        if not self.length:
            return len(inputs)
        spare = self.length - 1 if part == "train" else 0
        return max(0, (len(inputs) - 1 - spare) // self.length)

    def batches(self, first: int, count: int) -> Iterator[Batch]:
        """Batches of `count` training steps from `first` on, all drawn in advance."""
        return iter([self.batch(step) for step in range(first, first + count)])

    def batch(self, step: int) -> Batch:
        """The batch of a training step, counted from 0."""
        chosen = self.chosen(step)
        if self.length:
            key = f"lesson/{self.seed}/offset/{step // self.per_epoch}"
            offset = int(generator.integers(key, (1,), below=self.length)[0])
            return self.tokens("train", chosen, offset, key=f"lesson/{self.seed}/masks/{step}")
        order = np.sort(chosen), np.argsort(np.argsort(chosen))  # a file is read front to back
        images = np.asarray(self.arrays["train_inputs"][order[0]])[order[1]]
        labels = np.asarray(self.arrays["train_labels"][order[0]])[order[1]].astype(np.int64)
        return self.named(*self.softened(self.normal(self.augmented(images, step)), labels, step))

    def held_out(self, size: int, examples: int = 0) -> Iterator[tuple[Batch, np.ndarray]]:
        """Batches of `size`, with the labels (n,) or (n, L) of the n examples that count. The last
        batch is filled up with examples from the beginning. Covers the first `examples`; 0: all.
        """
        count = min(examples or self.count("test"), self.count("test"))
        for first in range(0, count, size):
            fresh = min(size, count - first)
            chosen = np.concatenate([np.arange(first, first + fresh), np.arange(size - fresh)])
            chosen %= count
            if self.length:
                batch = self.tokens("test", chosen, 0, key=f"lesson/held-out/{first}")
                labels = batch["masked_labels" if self.lesson.predictions else "labels"]
                yield batch, labels[:fresh]
                continue
            labels = self.arrays["test_labels"][chosen].astype(np.int64)
            images = self.normal(np.asarray(self.arrays["test_inputs"][chosen]))
            yield self.named(images, labels), labels[:fresh]

    def tokens(self, part: str, chosen: np.ndarray, offset: int, *, key: str) -> Batch:
        """input_ids, labels: int64 (B, L); a label is the next token. For masked tokens, see
        `masked_batch`.
        """
        if not self.lesson.predictions:
            tokens = self.windows(part, chosen, offset, self.length + 1)
            return {TOKENS: tokens[:, :-1].copy(), "labels": tokens[:, 1:].copy()}
        count = self.count(part)
        apart = 1 + generator.integers(f"{key}/others", (len(chosen),), below=max(1, count - 1))
        return masked_batch(
            self.windows(part, chosen, offset, self.length),
            self.windows(part, (chosen + apart) % count, offset, self.length),
            predictions=self.lesson.predictions, pieces=self.pieces, key=key,
        )  # fmt: skip

    def windows(self, part: str, chosen: np.ndarray, offset: int, width: int) -> np.ndarray:
        """int64 (B, width): tokens from the start of each chosen sequence on."""
        places = offset + chosen[:, None] * self.length + np.arange(width)
        found: np.ndarray = self.arrays[f"{part}_inputs"][places].astype(np.int64)
        return found

    def close(self) -> None:
        """Does nothing: there is nothing to close."""

    def augmented(self, images: np.ndarray, step: int) -> np.ndarray:
        """Each image shifted and mirrored by the step's random numbers; the new edge is black."""
        lesson, count = self.lesson, len(images)
        key = f"lesson/{self.seed}/augment/{step}"
        if lesson.flip:
            mirrored = generator.integers(f"{key}/flip", (count,), below=2) == 1
            images = np.where(mirrored[:, None, None, None], images[..., ::-1], images)
        if not lesson.shift:
            return images
        most, (height, width) = lesson.shift, images.shape[2:]
        sides = ((0, 0), (0, 0), (most, most), (most, most))
        padded = np.pad(images, sides, mode="constant")
        moves = generator.integers(f"{key}/shift", (2, count), below=2 * most + 1)
        rows = moves[0][:, None] + np.arange(height)
        columns = moves[1][:, None] + np.arange(width)
        at = np.arange(count)[:, None, None]
        moved = padded.transpose(0, 2, 3, 1)[at, rows[:, :, None], columns[:, None, :]]
        return np.ascontiguousarray(moved.transpose(0, 3, 1, 2))

    def normal(self, images: np.ndarray) -> np.ndarray:
        """float32: a subtraction and a division, which every machine rounds in the same way."""
        found: np.ndarray = images.astype(np.float32)
        found -= np.float32(self.lesson.center)
        found /= np.float32(self.lesson.spread)
        return found

    def named(self, images: np.ndarray, labels: np.ndarray) -> Batch:
        inputs = self.lesson.inputs
        if inputs != "images":
            images = images.reshape(len(images), -1)
        return {inputs: images, "labels": labels}


def grids(lesson: Lesson) -> tuple[int, int]:
    """See GRIDS."""
    few = lesson.classes <= FEW
    grid, fine = GRIDS[few]
    return grid, fine if few or lesson.mixup else UNMIXED


def smoothed(labels: np.ndarray, lesson: Lesson) -> np.ndarray:
    """Shares of classes, float32 (B, K): all at the label, except for the part spread evenly."""
    classes, fine = lesson.classes, grids(lesson)[1]
    each = round(lesson.smoothing / classes * fine) / fine
    found = np.full((len(labels), classes), each, dtype=np.float32)
    found[np.arange(len(labels)), labels] = 1 - (classes - 1) * each
    return found


def beta(key: str, alpha: float, *, grid: int) -> float:
    """A share drawn from Beta(alpha, alpha), a multiple of 1 / `grid` (Johnk 1964)."""
    for attempt in range(1000):
        drawn = generator.integers(f"{key}/{attempt}", (2,), below=2**53)
        one, other = (math.pow((int(n) + 0.5) / 2**53, 1 / alpha) for n in drawn)
        if 0 < one + other <= 1:
            return round(one / (one + other) * grid) / grid
    return 0.5  # with a small alpha, both may underflow
