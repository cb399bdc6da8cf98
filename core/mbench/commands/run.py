"""`mbench run`: one framework, measured alike but compared with nothing."""

from __future__ import annotations

from typing import Any

import click

from mbench.commands.measure import measure
from mbench.commands.options import (
    case_options,
    output_options,
    protocol_options,
    results_option,
)

__all__ = ["command"]


@click.command("run")
@click.argument("framework")
@case_options
@protocol_options
@results_option
@output_options
@click.pass_context
def command(context: click.Context, /, framework: str, **options: Any) -> None:
    """Measure one framework.

    \b
    Examples:
      mbench run torch
      mbench run tf --models bert-base --mode inference --batch-size 1,8,32
    """
    context.exit(measure(context, (framework,), options))
