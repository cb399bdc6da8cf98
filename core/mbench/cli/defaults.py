"""Defaults of options, from `mbench.toml` or pyproject.toml in the current folder."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from mbench.cli.options import NAMED, Value, overridden
from mbench.console import tell
from mbench.errors import UsageError
from mbench.files import Toml, Unreadable, opened, read_toml
from mbench.plugins.manager import nearest
from mbench.spec.option import Option
from mbench.spec.options import OPTIONS
from mbench.spec.values import text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["load_defaults", "of_files", "tell_defaults"]

OWN, SHARED, WITHIN = "mbench.toml", "pyproject.toml", "tool.mbench"
NEVER = ("allow", "help", "help-all", "dry-run", "output", "resume")
"""Options that apply to a single call only."""
HELP = {"-h", "--help", "--help-all"}
READERS = ("doctor", "export", "history", "list", "new", "report", "show", "site")
"""Commands that measure nothing and judge nothing."""
SHARED_BYTES = 2**24
"""Largest file that is searched for our name."""
SOURCE = "mbench.defaults"
Options = dict[str, click.Option]


@dataclass(frozen=True)
class File:
    """A file's keys: options for all commands that have them, and one table per command."""

    toml: Toml
    within: str
    keys: dict[str, object]

    def wrong(self, message: str, key: str, table: str = "") -> UsageError:
        inside = ".".join(filter(None, (self.within, table)))
        return self.toml.wrong(message, key, table=inside)


def load_defaults(context: click.Context, words: Sequence[str]) -> None:
    """Apply the file's defaults to the command that `words` call; raises UsageError.

    Help reads no file. If the file has an error, commands that neither measure nor judge report it
    and continue without the file.
    """
    name, *options = words
    called = options[: options.index("--")] if "--" in options else options
    if name == "help" or not HELP.isdisjoint(called):
        return
    try:
        read_defaults(context)
    except (UsageError, click.UsageError) as error:
        if name not in READERS:
            raise
        message = error.format_message() if isinstance(error, click.UsageError) else str(error)
        tell(f"{message}; continuing without that file's defaults")


def read_defaults(context: click.Context) -> None:
    """Apply the file's defaults to all commands; raises UsageError."""
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
    context.meta[SOURCE] = file.toml.source


def find() -> File | None:
    """The current folder's file, mbench's own first; raises UsageError unless it is valid TOML.

    pyproject.toml, which many tools share, counts only if it has our table.
    """
    try:
        toml = read_toml(Path(OWN))
        return File(toml, "", toml.content)
    except Unreadable as error:
        if not error.missing:
            raise
    if not names_mbench(Path(SHARED)):
        return None
    toml = read_toml(Path(SHARED))
    keys = toml.table(*WITHIN.split("."))
    return File(toml, WITHIN, keys) if keys else None


def names_mbench(path: Path) -> bool:
    """Whether a file contains "mbench", in any encoding; False if it cannot be read."""
    try:
        with opened(path, most=SHARED_BYTES) as file:
            return b"mbench" in (file.read() or b"").replace(b"\0", b"")
    except (OSError, ValueError):
        return False


def options_of_commands(context: click.Context) -> dict[str, Options]:
    """The options of each command, by key."""
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
    """Each command, key, value and the table that holds it; keys for all commands first."""
    every = sorted({key for options in known.values() for key in options})
    for key, value in file.keys.items():
        if isinstance(value, dict):
            continue
        if key in known and key not in NEVER:
            name = ".".join(filter(None, (file.within, key)))
            raise file.wrong(f"should be a table: [{name}]", key)
        if key not in every:
            raise file.wrong(unknown(key, every), key)
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
                raise file.wrong(unknown(key, known[command], command), key, command)
            yield command, key, value, command


def unknown(key: str, known: Iterable[str], command: str = "") -> str:
    """Why a key does not belong in a file, or in a command's table."""
    if key in NEVER:
        return "applies to a single call, so it cannot be a default: give it on the command line"
    listing = f"mbench {command} --help" if command else "mbench compare --help-all"
    return f"unknown key{nearest(key, known, listing=listing)}"


def raw_of(option: click.Option, value: object) -> object:
    """The value for click to read; None if a flag cannot have it."""
    if option.is_flag:
        return value if isinstance(value, bool) else None
    if isinstance(option.type, Value):
        return value
    items = [str(item) for item in (value if isinstance(value, list) else [value])]
    return items if option.multiple else ",".join(items)


def flag_value(option: click.Option, raw: object) -> object:
    """The flag's own value if several flags set the same parameter; otherwise `raw` itself."""
    shares = option.is_flag and raw is True and isinstance(option.flag_value, str)
    return option.flag_value if shares else raw


def of_files(context: click.Context) -> tuple[str, list[str]]:
    """The file that a command's defaults come from, and those defaults as one would type them."""
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
    """How to type an option that does not belong to an experiment."""
    read = option.type.read if isinstance(option.type, Value) else text
    return Option(
        name=max(option.opts, key=len).removeprefix("--").replace("-", "_"), read=read, says=""
    )


def tell_defaults(context: click.Context) -> None:
    """With --verbose, say which defaults came from a file."""
    source, words = of_files(context)
    if words and context.params["verbosity"] == "verbose":
        tell(f"defaults from {source}: {' '.join(words)}")
