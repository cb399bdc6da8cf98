"""Completion in fish of values that hold commas, as a list of frameworks does."""

from __future__ import annotations

from click.shell_completion import FishComplete, add_completion_class

__all__ = ["register"]

SPLIT = 'string split "," $completion'


class WholeValues(FishComplete):
    """click's own drops what follows the first comma of a value."""

    source_template = FishComplete.source_template.replace(
        SPLIT, SPLIT.replace("split", "split --max 1")
    )


def register() -> None:
    add_completion_class(WholeValues)
