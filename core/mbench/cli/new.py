"""`mbench new`: a package that works, for a framework or a model of one's own."""

from __future__ import annotations

from pathlib import Path

import click

from mbench.cli.options import plugins
from mbench.console import say
from mbench.errors import UsageError

__all__ = ["command"]

FOLDER = click.option(
    "--folder",
    type=click.Path(path_type=Path),
    help="Where to write it.  [default: mbench-NAME here]",
)


@click.group("new")
def command() -> None:
    """Start a package of your own: an adapter for a framework, or a model.

    The package works at once, under the name that you give. Then replace its parts with your own
    framework or model, file by file.

    \b
    Examples:
      mbench new adapter fast_net
      mbench new model tiny_mixer --folder src/tiny-mixer
    """


@command.command("adapter")
@click.argument("name")
@FOLDER
@click.pass_context
def adapter(context: click.Context, name: str, folder: Path | None) -> None:
    """Write a package that teaches mbench a framework.

    It holds a made-up framework in NumPy: one model, training and inference, two compilers, a
    fingerprint, tests with the conformance kit, and a workflow that runs them.

    \b
    Example:
      mbench new adapter fast_net
    """
    taken = plugins(context).framework(name) is not None
    write("adapter", name, folder, taken=taken, first=f"mbench verify {name} --models lstm-small")


@command.command("model")
@click.argument("name")
@FOLDER
@click.pass_context
def model(context: click.Context, name: str, folder: Path | None) -> None:
    """Write a package that adds a model for one framework or for several.

    It holds a perceptron that classifies images: its neutral facts, and its file for one framework.

    \b
    Example:
      mbench new model tiny_mixer
    """
    taken = name in plugins(context).workloads.by_name
    write("model", name, folder, taken=taken, first="mbench list models")


def write(kind: str, name: str, folder: Path | None, *, taken: bool, first: str) -> None:
    """Write it, and say what was written and what to type first. Raises UsageError."""
    from mbench.cli.scaffold import scaffold

    if taken:
        raise UsageError(f"mbench has the {kind} {name!r} already: give yours another name")
    folder = folder or Path(f"mbench-{name}")
    try:
        files = scaffold(kind, name, folder)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}") from None
    for file in files:
        say(str(file))
    say("try it:")
    say(f"  pip install -e {folder}")
    say(f"  {first}")
    say(f"{folder / 'README.md'} has the rest")
