"""The messages about input pipelines: what one is given, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

from mbench.contract.reading import Malformed

__all__ = ["AskFed", "Fed", "Feed", "Feeding"]


@dataclass(frozen=True, kw_only=True)
class Feed:
    """Let the next steps take their batches from the input pipeline, which begins on these
    samples: their ids, their crop boxes (four numbers each, see contract/feed.py), and whether each
    is mirrored. When all are taken, steps are on resident batches again. If `alone`, batches are
    only taken, and no step is made. Answered by Feeding.
    """

    ids: list[int]
    boxes: list[int]
    flips: list[int]
    alone: bool = False
    keep: bool = False
    """Keep all batches, which are reported whole."""
    cold: bool = False
    """Drop the files from the page cache first; else read them into it."""
    content: int = 0
    """What the worker is to call the content of these batches, in what it reports of a step."""

    def __post_init__(self) -> None:
        if len(self.boxes) != 4 * len(self.ids) or len(self.flips) != len(self.ids):
            raise Malformed("Feed should have a box and a flip for each sample")


@dataclass(frozen=True, kw_only=True)
class Feeding:
    """The pipeline has begun."""


@dataclass(frozen=True, kw_only=True)
class AskFed:
    """Take what is left of the samples that were given, untimed, and report what came of them."""


@dataclass(frozen=True, kw_only=True)
class Fed:
    """What came of the samples of `Feed`."""

    batches: int
    """That the pipeline gave."""
    ids: list[int]
    """Of all samples in the order in which they came."""
    labels: list[int]
    """Of the last batch that a step took; of batches that were kept, of all."""
    pixels: list[float]
    """A sketch of the images of the last batch that a step took."""
    images: str = ""
    """Base 64 of the images of batches that were kept, little-endian float32 (N, 3, H, W)."""
