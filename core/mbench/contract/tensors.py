"""A framework's own tensors: the core passes them on, and never looks into them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    Tensor = Any
    """A framework's tensor, or whatever else its calls take and return."""
    Tensors = Mapping[str, Tensor]  # by name

__all__: list[str] = []
