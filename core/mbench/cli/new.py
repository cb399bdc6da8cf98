"""`mbench new`: a working package for your own framework or model, a task, or reference files."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from mbench.cli.completion import arms, completer, models
from mbench.cli.options import plugins
from mbench.console import say, tell
from mbench.errors import UsageError, why

__all__ = ["command"]

FOLDER = click.option(
    "--folder",
    type=click.Path(path_type=Path),
    help="Where to write it.  [default: mbench-NAME here]",
)


@click.group("new")
def command() -> None:
    """Start an adapter for a framework, a model or a task of your own.

    It works at once, under the name that you give. Then replace its parts with your own, file by
    file.

    \b
    Examples:
      mbench new adapter fast_net
      mbench new model tiny_mixer --folder src/tiny-mixer
      mbench new reference tiny_mixer
    """


@command.command("adapter")
@click.argument("name")
@FOLDER
@click.option("--autograd/--no-autograd", default=True, show_default=True,
              help="Whether the framework can differentiate; if not, the adapter only "
                   "infers.")  # fmt: skip
@click.pass_context
def adapter(context: click.Context, name: str, folder: Path | None, *, autograd: bool) -> None:
    """Write a package that adds a framework.

    It works: at first it measures autograd, which differentiates NumPy. It holds an LSTM and a
    ResNet, training and inference, two compilers, tests with the conformance kit, and a workflow
    that runs them.

    With --no-autograd it infers only, as ONNX Runtime does, and measures NumPy at first: training
    is refused with the reason.

    \b
    Examples:
      mbench new adapter fast_net
      mbench new adapter runs_graphs --no-autograd
    """
    taken = plugins(context).framework(name) is not None
    write("adapter", name, folder, taken=taken, autograd=autograd)


@command.command("model")
@click.argument("name")
@FOLDER
@click.pass_context
def model(context: click.Context, name: str, folder: Path | None) -> None:
    """Write a package that adds a model for one framework or for several.

    It holds a model with two layers that classifies images: the facts that all frameworks share,
    and its file for PyTorch.

    \b
    Example:
      mbench new model tiny_mixer
    """
    taken = name in plugins(context).workloads.by_name
    write("model", name, folder, taken=taken)


@command.command("task")
@click.argument("name")
@click.option("--from", "base", default="glyphs", show_default=True, metavar="TASK",
              help="The task to start from; see mbench list tasks.")  # fmt: skip
@click.pass_context
def task(context: click.Context, name: str, base: str) -> None:
    """Write a task of your own, NAME.toml, to train frameworks on.

    It begins as one of mbench's tasks, which works at once. Then change data, model, schedule,
    target and margin; docs/learning.md has every key.

    \b
    Examples:
      mbench new task mine
      mbench new task my_text --from chars
    """
    from mbench.files import write_whole
    from mbench.learning.task import FOLDER, MASKED, PHOTOGRAPHS, find_task, task_names

    kind = find_task(base, plugins(context)).data.kind
    file = Path(name if name.endswith(".toml") else f"{name}.toml")
    if file.exists():
        raise UsageError(f"{file} already exists: give the task another name")
    if base not in task_names():
        raise UsageError(f"--from takes one of mbench's own tasks: {', '.join(task_names())}")
    text = (FOLDER / f"{base}.toml").read_bytes()
    try:
        write_whole(file, text)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {why(error)}") from None
    say(str(file))
    say("Try it:")
    data = {PHOTOGRAPHS: " --data FOLDER", MASKED: " --data FILE"}.get(kind, "")
    say(f"  mbench train FRAMEWORK FRAMEWORK --task {file} --seeds 2{data}")


@command.command("reference")
@click.argument("names", nargs=-1, required=True, metavar="MODEL...",
                shell_complete=completer(models))  # fmt: skip
@click.option("--framework", metavar="FRAMEWORK", shell_complete=arms(),
              help="The framework that runs the reference implementation.  [default: the first one "
              "that the model's package has a file for]")  # fmt: skip
@click.pass_context
def reference(context: click.Context, names: tuple[str, ...], framework: str | None) -> None:
    """Write the reference answers that proofs compare models with.

    The reference implementation runs in float64 on the CPU. The reference file goes into the folder
    references beside the module that defines the model. Write it again when the model changes.

    \b
    Examples:
      mbench new reference tiny_mixer
      mbench new reference resnet50 resnet50+layer3 --framework torch
    """
    from mbench.proofs.write_reference import write_reference
    from mbench.spec.selection import select

    for name in select(names, plugins(context).workloads):
        path = write_reference(name, framework, plugins(context), report=tell)
        say(f"{name}: {path}, {path.stat().st_size / 1024:.1f} KiB")


def write(kind: str, name: str, folder: Path | None, *, taken: bool, autograd: bool = True) -> None:
    """Write the package; print its files and the commands to try, which its README shows first.

    Raises UsageError.
    """
    from mbench.cli.scaffold import scaffold

    if taken:
        raise UsageError(f"mbench already has the {kind} {name!r}: give yours another name")
    folder = folder or Path(f"mbench-{name}")
    try:
        files = scaffold(kind, name, folder, autograd=autograd)
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {why(error)}") from None
    for file in files:
        say(str(file))
    say("Try it:")
    readme = folder / "README.md"
    shown = readme.read_text(encoding="utf-8").partition("```console\n")[2].partition("```")[0]
    for step in shown.splitlines():
        here = step.replace("install -e .", f"install -e {shlex.quote(str(folder))}")
        say(f"  {here.removeprefix('$ ')}")
    say(f"{readme} says how to make it yours")
