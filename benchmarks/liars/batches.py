"""Lies about the batches that a step computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from liars.lie import TEXT, Lie

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["BATCHES"]


class Half(Lie):
    """after the first step, half of each batch"""

    def step(self, at: int) -> None:
        if self.calls:
            whole = self.placed_batches[at]
            self.placed_batches[at] = {name: one[: len(one) // 2] for name, one in whole.items()}
            super().step(at)
            self.placed_batches[at] = whole
        else:
            super().step(at)

    def outputs(self) -> dict[str, np.ndarray]:
        size = self.case.batch_size
        return {name: np.resize(one, (size, *one.shape[1:]))
                for name, one in super().outputs().items()}  # fmt: skip


class Small(Lie):
    """images of half the size"""

    def placed(self, batch: Mapping[str, np.ndarray]) -> dict[str, Any]:
        return super().placed(
            {**batch, "images": np.ascontiguousarray(batch["images"][..., ::2, ::2])}
        )


class Neighbour(Lie):
    """the batch before is computed in place of the one that is asked for"""

    def step(self, at: int) -> None:
        super().step((at - 1) % self.batches)


class OneBatch(Lie):
    """one batch for all"""

    def step(self, at: int) -> None:
        super().step(0)


class Unlabelled(Lie):
    """labels are ignored"""

    modes = ("train",)

    def placed(self, batch: Mapping[str, np.ndarray]) -> dict[str, Any]:
        return super().placed({**batch, "labels": np.zeros_like(batch["labels"])})


class Truncated(Lie):
    """the first half of every sequence"""

    model = TEXT

    def placed(self, batch: Mapping[str, np.ndarray]) -> dict[str, Any]:
        half = batch["input_ids"].shape[1] // 2
        cut = {name: batch[name][:, :half] for name in ("input_ids", "token_type_ids")}
        return super().placed(
            {**batch, **cut, "masked_positions": batch["masked_positions"] % half}
        )


class Copied(Lie):
    """the last sample of each batch is a copy of the first"""

    def placed(self, batch: Mapping[str, np.ndarray]) -> dict[str, Any]:
        return super().placed(
            {name: np.concatenate([one[:-1], one[:1]]) for name, one in batch.items()}
        )


class Gray(Lie):
    """the first channel of images in place of all three"""

    def placed(self, batch: Mapping[str, np.ndarray]) -> dict[str, Any]:
        images = batch["images"]
        gray = np.ascontiguousarray(np.broadcast_to(images[:, :1], images.shape))
        return super().placed({**batch, "images": gray})


class Rolled(Lie):
    """each sample has the labels of the one before"""

    modes = ("train",)

    def placed(self, batch: Mapping[str, np.ndarray]) -> dict[str, Any]:
        labels = batch["labels"]
        return super().placed({**batch, "labels": labels[[-1, *range(len(labels) - 1)]]})


class Repeated(Lie):
    """the first sample in place of all others"""

    def placed(self, batch: Mapping[str, np.ndarray]) -> dict[str, Any]:
        return super().placed({name: one[[0] * len(one)] for name, one in batch.items()})


class Mirrored(Lie):
    """images are mirrored"""

    def placed(self, batch: Mapping[str, np.ndarray]) -> dict[str, Any]:
        images = np.ascontiguousarray(batch["images"][..., ::-1])
        return super().placed({**batch, "images": images})


BATCHES: Mapping[str, type[Lie]] = {
    "half": Half, "small": Small, "neighbour": Neighbour, "one-batch": OneBatch,
    "unlabelled": Unlabelled, "truncated": Truncated, "copied": Copied, "gray": Gray,
    "rolled": Rolled, "repeated": Repeated, "mirrored": Mirrored,
}  # fmt: skip
