"""Keyword arguments as the options of a command: one spelling, one check, one list of them."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from mbench.cli.main import be_at_home, group
from mbench.errors import UsageError
from mbench.plugins.manager import Plugins, nearest

__all__ = ["Asked", "Option", "keywords", "takes", "typed"]

Option = str | float | os.PathLike[str] | Iterable[str | int] | Mapping[str, int] | None
"""What a keyword takes: text as the option does, or the value itself; None as if it were not
given. Several values multiply, as comma lists do; a share stands for a percentage."""

Function = TypeVar("Function", bound=Callable[..., Any])

ON_OUTPUT = ("color", "dry_run", "explain", "format", "help", "layout", "log", "output")
"""Options that say what becomes of a report, which a caller has as a value."""


@dataclass(frozen=True)
class Asked:
    """A command with its options, as if it had been typed."""

    context: click.Context
    words: tuple[str, ...]


def keywords(command: click.Command, plugins: Plugins | None = None) -> dict[str, click.Option]:
    """The options of a command by keyword; with `plugins`, also those that adapters bring."""
    context = click.Context(command, parent=root(plugins or Plugins(entries=())))
    found = {
        max(option.opts, key=len).removeprefix("--").replace("-", "_"): option
        for option in command.get_params(context)
        if isinstance(option, click.Option)
    }
    return {name: option for name, option in found.items() if name not in ON_OUTPUT}


def typed(command: click.Command, options: Mapping[str, Option], *arguments: str) -> Asked:
    """The command as if `options` and `arguments` had been typed; raises UsageError."""
    be_at_home()
    plugins = Plugins()
    known = keywords(command, plugins)
    words: list[str] = []
    for name, value in options.items():
        if name not in known:
            raise UsageError(f"mbench.{command.name} takes no {name!r}{nearest(name, known)}")
        words += spelled(known[name], name, value)
    words += ["--", *arguments] if arguments else []
    try:
        context = command.make_context(command.name, list(words), parent=root(plugins))
    except click.ClickException as error:
        raise UsageError(error.format_message()) from None
    return Asked(context, ("mbench", str(command.name), *words))


def root(plugins: Plugins) -> click.Context:
    """The context of `mbench` itself."""
    return click.Context(group, info_name="mbench", obj=plugins, **group.context_settings)


def spelled(option: click.Option, name: str, value: Any) -> list[str]:
    """An option with its value, as words of a command line; none where nothing is said."""
    flag = f"--{name.replace('_', '-')}"
    if value is None:
        return []
    if option.is_flag and isinstance(value, bool):
        return [flag] if value else option.secondary_opts[:1]
    if isinstance(value, Mapping):
        return [f"{flag}={key}={each}" for key, each in value.items()]
    if isinstance(value, float) and option.type.name == "percent":
        return [f"{flag}={100 * value:.10g}%"]
    if isinstance(value, str) or not isinstance(value, Iterable):
        return [f"{flag}={value}"]
    joined = getattr(option.type, "joined", lambda items: ",".join(map(str, items)))
    return [f"{flag}={joined(value)}"]


def takes(command: click.Command) -> Callable[[Function], Function]:
    """Show the options of `command` as the keywords of a function."""

    def shown(function: Function) -> Function:
        signature = inspect.signature(function)
        given = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        taken = {parameter.name for parameter in given}
        given += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=usual(option))
            for name, option in keywords(command).items()
            if name not in taken
        ]
        function.__signature__ = signature.replace(parameters=given)  # type: ignore[attr-defined]
        return function

    return shown


def usual(option: click.Option) -> Any:
    """The value where none is given, as far as it is a plain one."""
    default = option.default
    return default if isinstance(default, (str, int, float)) and option.opts else None
