"""Frameworks by name: as arguments, or as `--frameworks`."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from mbench.cli.complete import arms
from mbench.cli.options import ARMS, apply
from mbench.errors import UsageError

if TYPE_CHECKING:
    from mbench.cli.options import Decorator

__all__ = ["NAMED", "frameworks_options"]

NAMED = "mbench.named"


def keep(context: click.Context, _: click.Parameter, named: tuple[tuple[str, ...], ...]) -> None:
    context.meta[NAMED] = tuple(chain(*named))


def choose(context: click.Context, _: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the arguments, else of the option; raises UsageError where both name some."""
    named: tuple[str, ...] = context.meta[NAMED]
    typed = context.get_parameter_source("frameworks") is ParameterSource.COMMANDLINE
    if named and typed:
        raise UsageError(
            f"{' '.join(named)} and --frameworks {','.join(given)} both name frameworks; "
            "give one of them",
            option="--frameworks",
        )
    return named or given


def frameworks_options(*, help: str) -> Decorator:  # noqa: A002
    """Both ways, of which the command sees `frameworks`; none where none is named."""
    completed = arms(many=True)
    return apply(
        [
            click.argument("named", nargs=-1, type=ARMS, metavar="[FRAMEWORK]...",
                           expose_value=False, is_eager=True,  # before --frameworks
                           callback=keep, shell_complete=completed),
            click.option("--frameworks", type=ARMS, default=(), callback=choose, help=help,
                         shell_complete=completed),
        ]
    )  # fmt: skip
