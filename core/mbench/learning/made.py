"""What the maker of a kind of data gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

__all__ = ["Made"]


@dataclass(frozen=True, kw_only=True)
class Made:
    """A task's data: arrays by name, as workers read them, and what is known of them."""

    arrays: Mapping[str, np.ndarray]
    train: int
    """Examples, or tokens of a text, that are trained on,"""
    test: int
    """and that are held out."""
    vocabulary: int = 0
    """Of tokens; 0 for images."""
    classes: int = 0
    """Of a folder of images; 0 where a task's kind of data has always as many."""
    files: str = ""
    """A digest of files that frameworks read themselves; empty where arrays hold all."""
