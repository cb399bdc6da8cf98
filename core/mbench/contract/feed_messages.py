"""The messages about input pipelines: what a pipeline is given, and what it produced."""

from __future__ import annotations

from dataclasses import dataclass

from mbench.contract.reading import Malformed

__all__ = ["AskFed", "Fed", "Feed", "Feeding"]


@dataclass(frozen=True, kw_only=True)
class Feed:
    """Let the next steps take their batches from the input pipeline, which begins on these
    samples: their ids, their crop boxes (four numbers each, see contract/feed.py), and whether each
    is mirrored. When all are taken, steps use resident batches again. If `alone`, batches are
    only taken, and no step runs. Answered by Feeding.
    """

    ids: list[int]
    boxes: list[int]
    flips: list[int]
    alone: bool = False
    keep: bool = False
    """Keep all batches and report them whole."""
    cold: bool = False
    """Drop the files from the page cache first; otherwise read them into it."""
    content: int = 0
    """The number by which the worker is to report the content of these batches."""

    def __post_init__(self) -> None:
        if len(self.boxes) != 4 * len(self.ids) or len(self.flips) != len(self.ids):
            raise Malformed("Feed should have a box and a flip for each sample")


@dataclass(frozen=True, kw_only=True)
class Feeding:
    """The pipeline has begun."""


@dataclass(frozen=True, kw_only=True)
class AskFed:
    """Take the remaining samples, untimed, and report what the pipeline produced."""


@dataclass(frozen=True, kw_only=True)
class Fed:
    """What the pipeline produced from the samples of `Feed`."""

    batches: int
    """Number of batches that the pipeline returned."""
    ids: list[int]
    """Ids of all samples in the order in which they came."""
    labels: list[int]
    """Labels of the last batch that a step took; of all batches if they were kept."""
    pixels: list[float]
    """A sketch of the images of the last batch that a step took."""
    images: str = ""
    """Images of the batches that were kept, little-endian float32 (N, 3, H, W) in Base64."""
