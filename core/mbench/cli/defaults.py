"""Defaults of options, from `mbench.toml` or pyproject.toml in the current folder."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from mbench.cli.options import NAMED, Value, overridden
from mbench.console import tell
from mbench.errors import UsageError
from mbench.plugins.manager import nearest
from mbench.spec.option import Option
from mbench.spec.options import OPTIONS
from mbench.spec.values import text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["load_defaults", "of_files", "tell_defaults"]

OWN, SHARED, WITHIN = "mbench.toml", "pyproject.toml", "tool.mbench"
NEVER = ("help", "help-all", "dry-run", "output", "resume")
"""Options that belong to one call."""
SOURCE = "mbench.defaults"
Options = dict[str, click.Option]


@dataclass(frozen=True)
class File:
    """A file's keys: of all commands that have such an option, and in a table for each command."""

    name: str
    text: str
    within: str
    keys: dict[str, object]

    def wrong(self, message: str, key: str, table: str = "") -> UsageError:
        from mbench.spec.suite import line_of

        inside = ".".join(filter(None, (self.within, table)))
        line = line_of(self.text, key, table=inside, number=0)
        where = f"{self.name}, line {line}" if line else self.name
        return UsageError(f"{where}, {key}: {message}")


def load_defaults(context: click.Context) -> None:
    """Let the commands below `context` have what the file says; raises UsageError."""
    file = find()
    if file is None:
        return
    known = options_of_commands(context)
    defaults: dict[str, dict[str, object]] = {}
    for command, key, value, table in spread(file, known):
        option = known[command][key]
        raw = raw_of(option, value)
        try:
            if raw is None:
                raise click.BadParameter(f"{value!r} is not true or false")
            if not option.is_flag:
                option.type_cast_value(click.Context(click.Command(command), parent=context), raw)
        except click.BadParameter as error:
            raise file.wrong(error.message, key, table) from None
        assert option.name is not None
        if raw is not False or option.secondary_opts:
            defaults.setdefault(command, {})[option.name] = flag_value(option, raw)
    context.default_map = defaults
    context.meta[SOURCE] = file.name


def find() -> File | None:
    """The current folder's file, mbench's own first; raises UsageError unless it is valid TOML."""
    for name, within in ((OWN, ""), (SHARED, WITHIN)):
        try:
            text = Path(name).read_bytes().decode()
            if within and f"[{within}" not in text:
                continue
            keys = tomllib.loads(text)
        except OSError:
            continue
        except ValueError as error:
            raise UsageError(f"{name} is not valid TOML: {error}") from None
        for part in filter(None, within.split(".")):
            keys = keys.get(part, {})
        return File(name, text, within, keys)
    return None


def options_of_commands(context: click.Context) -> dict[str, Options]:
    """The options of each command by the key that stands for them."""
    group = context.command
    assert isinstance(group, click.Group)
    found: dict[str, Options] = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        below = click.Context(command, info_name=name, parent=context)
        options = [one for one in command.get_params(below) if isinstance(one, click.Option)]
        keys = {max(one.opts, key=len).removeprefix("--"): one for one in options}
        found[name] = {key: one for key, one in keys.items() if key not in NEVER}
    return found


def spread(file: File, known: dict[str, Options]) -> Iterator[tuple[str, str, object, str]]:
    """Each command, key and value, and the table it stands in; keys of all commands first."""
    every = sorted({key for options in known.values() for key in options})
    for key, value in file.keys.items():
        if isinstance(value, dict):
            continue
        if key not in every:
            raise file.wrong(f"unknown key{nearest(key, [*every, *known])}", key)
        for command, options in known.items():
            if key in options:
                yield command, key, value, ""
    for command, table in file.keys.items():
        if not isinstance(table, dict):
            continue
        if command not in known:
            raise file.wrong(f"unknown command{nearest(command, known)}", command)
        for key, value in table.items():
            if key not in known[command]:
                raise file.wrong(f"unknown key{nearest(key, known[command])}", key, command)
            yield command, key, value, command


def raw_of(option: click.Option, value: object) -> object:
    """The value for click to read; None for what a flag cannot be."""
    if option.is_flag:
        return value if isinstance(value, bool) else None
    if isinstance(option.type, Value):
        return value
    items = [str(item) for item in (value if isinstance(value, list) else [value])]
    return items if option.multiple else ",".join(items)


def flag_value(option: click.Option, raw: object) -> object:
    """The one of a set of flags that share a name, or the value itself."""
    shares = option.is_flag and raw is True and isinstance(option.flag_value, str)
    return option.flag_value if shares else raw


def of_files(context: click.Context) -> tuple[str, list[str]]:
    """The file that gave defaults to a command, and what they are as one would type them."""
    words = []
    unused = {*overridden(context), *(["frameworks"] if context.meta.get(NAMED) else [])}
    for option in context.command.get_params(context):
        name = option.name or ""
        if (
            isinstance(option, click.Option)
            and name not in unused
            and context.get_parameter_source(name) is ParameterSource.DEFAULT_MAP
        ):
            raw = context.lookup_default(name)
            if option.is_flag and isinstance(raw, bool):
                words.append((option.opts if raw else option.secondary_opts)[0])
            elif option.is_flag:
                words += [option.opts[0]] if raw == flag_value(option, True) else []
            else:
                spelled = OPTIONS.get(name) or spelling(option)
                words += map(shlex.quote, spelled.words(raw))
    return context.meta.get(SOURCE, ""), words


def spelling(option: click.Option) -> Option:
    """How an option that says nothing of an experiment is typed."""
    read = option.type.read if isinstance(option.type, Value) else text
    return Option(
        name=max(option.opts, key=len).removeprefix("--").replace("-", "_"), read=read, says=""
    )


def tell_defaults(context: click.Context) -> None:
    """With --verbose, which defaults came from a file."""
    source, words = of_files(context)
    if words and context.params["verbosity"] == "verbose":
        tell(f"defaults of {source}: {' '.join(words)}")
