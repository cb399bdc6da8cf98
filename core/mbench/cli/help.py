"""`mbench help`: the help of a command, as other programs offer it."""

from __future__ import annotations

import click

from mbench.errors import UsageError
from mbench.plugins.manager import nearest

__all__ = ["command"]


def below(context: click.Context, words: tuple[str, ...]) -> click.Context:
    """The context of the command that `words` call; raises UsageError if there is none."""
    for word in words:
        group = context.command
        known = group.list_commands(context) if isinstance(group, click.Group) else []
        if not isinstance(group, click.Group) or word not in known:
            raise UsageError(f"unknown command {' '.join(words)!r}{nearest(word, known)}")
        found = group.get_command(context, word)
        assert found is not None
        context = click.Context(found, info_name=word, parent=context)
    return context


def offered(context: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    group = below(context.find_root(), context.params.get(param.name or "") or ()).command
    names = group.list_commands(context) if isinstance(group, click.Group) else []
    return [name for name in names if name.startswith(incomplete)]


@click.command("help")
@click.argument("words", nargs=-1, metavar="[COMMAND]...", shell_complete=offered)
@click.pass_context
def command(context: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of mbench, or of a command.

    \b
    Examples:
      mbench help
      mbench help compare
      mbench help env create
    """
    click.echo(below(context.find_root(), words).get_help())
