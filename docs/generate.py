"""Writes cli.md, the help text of every command; with --check, fails where it has drifted.

Usage: python docs/generate.py [--check]
"""

from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mbench.cli import group
from mbench.plugins import Plugins

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PAGE", "contexts", "main", "page"]

PAGE = Path(__file__).parent / "cli.md"
WIDTH = 90

HEAD = """\
# Commands

This page is generated from the commands themselves by `python docs/generate.py`. Commands that
other plugins add are not on it.

Every option that takes a list takes it with commas: `--models resnet50,bert-base`. Reports go to
stdout, everything else to stderr. The exit codes are described in
[Getting started](getting-started.md#exit-codes).
"""


def contexts() -> Iterator[click.Context]:
    """A context for `mbench` itself, then for each command and its subcommands, in their order."""
    root = click.Context(
        group,
        info_name="mbench",
        obj=Plugins(external=False),
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        **group.context_settings,
    )
    yield from descend(root)


def descend(context: click.Context) -> Iterator[click.Context]:
    yield context
    command = context.command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from descend(click.Context(found, info_name=name, parent=context))


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for context in contexts():
        title = f"## `{context.command_path}`"
        parts.append(f"{title}\n\n```text\n{context.get_help().rstrip()}\n```\n")
    return "\n".join(parts)


def main() -> int:
    new, old = page(), PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    if sys.argv[1:] != ["--check"]:
        PAGE.write_text(new, encoding="utf-8")
        return 0
    drift = difflib.unified_diff(
        old.splitlines(), new.splitlines(), "docs/cli.md", "the commands", lineterm=""
    )
    for line in drift:
        print(line)
    if new != old:
        print("docs/cli.md has drifted: run python docs/generate.py", file=sys.stderr)
    return int(new != old)


if __name__ == "__main__":
    sys.exit(main())
