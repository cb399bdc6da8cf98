"""How the axes of a case are said and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["said", "written"]


def written(sizes: Mapping[str, int]) -> str:
    """Sizes as `--size` takes them: "image_size=96"."""
    return ",".join(f"{name}={size}" for name, size in sizes.items())


def said(sizes: Mapping[str, int]) -> str:
    """Sizes in words: "image size 96"."""
    return ", ".join(f"{name.replace('_', ' ')} {size}" for name, size in sizes.items())
