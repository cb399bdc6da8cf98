"""Options for what a terminal shows: colour, and how much is reported during a run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TextIO

import click

from mbench.cli.options import apply

if TYPE_CHECKING:
    from mbench.cli.options import Decorator

__all__ = ["color_option", "in_colour", "screen_options"]

CHOICES = {"auto": None, "always": True, "never": False}


def choose(context: click.Context, _: click.Parameter, chosen: str) -> None:
    context.color = CHOICES[chosen]


color_option: Decorator = click.option(
    "--color", type=click.Choice(list(CHOICES)), default="auto", show_default=True,
    expose_value=False, callback=choose,
    help="Colour the output; auto respects the terminal, NO_COLOR and FORCE_COLOR.",
)  # fmt: skip

screen_options = apply(
    [
        color_option,
        click.option("-q", "--quiet", "verbosity", flag_value="quiet",
                     help="Show the report only, without progress."),
        click.option("-v", "--verbose", "verbosity", flag_value="verbose",
                     help="Report decisions, their reasons, where the logs are, and every note."),
    ]
)  # fmt: skip


def in_colour(stream: TextIO) -> bool:
    """Whether to colour output to `stream`."""
    context = click.get_current_context(silent=True)
    if context is not None and context.color is not None:
        return context.color
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"
