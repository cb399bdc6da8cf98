"""What is recorded about the files that batches come from, and about the pixels made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from mbench.contract.quantities import Count, Number
from mbench.contract.reading import Quantity

__all__ = ["CONTENTS_OF", "PARTS", "PIPELINE", "SIZES_OF", "STEP", "DataSetRecord", "PixelRecord"]

CONTENTS_OF, SIZES_OF = "contents", "sizes"
"""What the digest of a data set covers, besides names."""

STEP, PIPELINE = PARTS = ("step", "pipeline")
"""Parts of a case with an input pipeline: the step on resident batches, and batches that are made
but not used."""
Decibels = Annotated[float, Quantity("dB")]
Grey = Annotated[float, Quantity("of 255")]


@dataclass(frozen=True, kw_only=True)
class DataSetRecord:
    """The files that batches come from."""

    folder: str
    """Where they are."""
    files: Count
    """How many there are."""
    classes: Number
    """Number of class folders; 0 for a flat folder."""
    names: str
    """SHA-256 of all names, in order."""
    digest: str
    """SHA-256 over all files: their names and sizes, and their contents where there are at most
    20,000."""
    digest_of: str
    """ "contents" if the digest covers the files' contents, too; else "sizes"."""


@dataclass(frozen=True, kw_only=True)
class PixelRecord:
    """What an input pipeline makes of [known images](input.md#equal-pixels)."""

    grade: str
    """How decoding compares: `equal`, `within 1 of 255`, or `another decoder`."""
    largest: Grey
    """Largest difference of a pixel that was decoded but not resized."""
    mean: Grey
    """Mean difference."""
    psnr: Decibels | None
    """Peak signal-to-noise ratio; null for equal pixels."""
    failures: list[str]
    """What is wrong with pixels, labels or their order; empty where nothing is."""
