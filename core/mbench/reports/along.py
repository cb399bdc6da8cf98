"""What a step is taken apart into by whole steps, as rows: its phases, and its stages."""

from __future__ import annotations

from typing import Any

__all__ = ["phases", "stages"]

Document = dict[str, Any]
REST = "no block of a stage"


def phases(found: Document) -> list[tuple[str, Document]]:
    """In their order: each is what it adds to those before it. None where there are none."""
    return [(one["phase"], one) for one in found["phases"]]


def stages(found: Document) -> list[tuple[str, Document]]:
    """In their order, then what is in none of them. None where there are none."""
    parts = [(one["stage"], one) for one in found["stages"]]
    return [*parts, (REST, found["rest"])] if parts else []
