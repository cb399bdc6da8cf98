"""The options of a gate, and the exit code of a command that has one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from mbench.cli.options import Value, apply
from mbench.console import tell
from mbench.spec.values import share

if TYPE_CHECKING:
    from pathlib import Path

    from mbench.cli.options import Decorator
    from mbench.results.gate import Gate

__all__ = ["announce", "gate_options"]

BEGINS_WITH_IT = ("table", "details", "markdown")
"""Formats whose first line is the gate's line."""


def gate_options(*, of: str, default: str | None = None) -> Decorator:
    """A gate's two options; `of` is the condition for their help, such as "a case is slower"."""
    return apply(
        [
            click.option("--fail-if-slower", type=Value(partial(share, zero=True), "PERCENT"),
                         default=default, show_default=default is not None,
                         help=f"Exit with 1 if {of} by more than this, and with 3 if the "
                         "measurement is not precise enough to tell."),
            click.option("--allow-inconclusive", is_flag=True,
                         help="Let cases that are not precise enough pass, as long as one case "
                         "passes on its own."),
        ]
    )  # fmt: skip


def announce(
    gate: Gate, line: str = "", *, format_: str, layout: str | None = None, output: Path | None
) -> int:
    """Print the gate's line, unless the report on stdout begins with it; returns the exit code."""
    if output is not None or layout is not None or format_ not in BEGINS_WITH_IT:
        tell(line or str(gate))
    return gate.exit_code
