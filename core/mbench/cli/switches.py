"""Short options for compilers: `--NAME` for each compiler that an adapter has a switch for."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import click

from mbench.cli.options import plugins

if TYPE_CHECKING:
    from mbench.plugins.manager import Plugins

__all__ = ["CaseCommand", "switches"]

AFTER = "compiler"
"""The parameter that switches stand behind in the help."""


class CaseCommand(click.Command):
    """A command with the options of cases, and with the switches that adapters offer."""

    def get_params(self, context: click.Context) -> list[click.Parameter]:
        params = super().get_params(context)
        at = 1 + [param.name for param in params].index(AFTER)
        return [*params[:at], *map(option, switches(plugins(context))), *params[at:]]


def switches(found: Plugins) -> list[str]:
    """The compilers that have a switch, each once."""
    adapters = found.adapters.unique().values()
    return list(dict.fromkeys(name for adapter in adapters for name in adapter.switches))


@cache
def option(name: str) -> click.Option:
    """Not given, it says nothing: neither on nor off."""
    return click.Option(
        [f"--{name}/--no-{name}", name], default=None, help=f"The same as --compiler {name}."
    )
