"""What the maker of a kind of data returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

__all__ = ["Made"]


@dataclass(frozen=True, kw_only=True)
class Made:
    """A task's data: arrays by name, as workers read them, and facts about them."""

    arrays: Mapping[str, np.ndarray]
    train: int
    """Number of examples, or tokens of a text, to train on."""
    test: int
    """Number of examples or tokens held out."""
    vocabulary: int = 0
    """Number of tokens; 0 for images."""
    classes: int = 0
    """Classes in a folder of images; 0 if the kind of data has a fixed number."""
    files: str = ""
    """A digest of the files that frameworks read themselves; empty if arrays hold everything."""
