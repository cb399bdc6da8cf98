"""`mbench env`: the environments in which frameworks live."""

from __future__ import annotations

import sys
from itertools import chain

import click

from mbench.cli.completion import completer, environments
from mbench.cli.completion import frameworks as known
from mbench.cli.options import (
    COMMAS,
    DeviceName,
    node_options,
    plugins,
)
from mbench.cli.output import print_table
from mbench.console import say
from mbench.spec.experiment import Launch

__all__ = ["command"]


@click.group("env")
def command() -> None:
    """Build, list and remove the environments that mbench keeps for frameworks.

    They are in the user's cache, or in the folder that MBENCH_ENVIRONMENTS names.

    \b
    Examples:
      mbench env create torch tf
      mbench env list
      mbench env remove torch-py3.11-0123456789ab
    """


@command.command("create")
@click.argument(
    "words",
    nargs=-1,
    required=True,
    type=COMMAS,
    metavar="FRAMEWORK...",
    shell_complete=completer(known, many=True),
)
@click.option(
    "--device",
    type=DeviceName(),
    default="auto",
    show_default=True,
    help="Build for this device.",
)
@click.option(
    "--nodes",
    type=click.IntRange(1),
    metavar="N",
    help="Build them on each of N machines that share no folder.",
)
@node_options
@click.pass_context
def create(
    context: click.Context, /, words: tuple[tuple[str, ...], ...], device: str, nodes: int | None,
    launcher: str | None, hosts: str | None,
) -> None:  # fmt: skip
    """Build environments now, so that the first comparison need not.

    \b
    Examples:
      mbench env create torch torch==2.12.0
      mbench env create torch --nodes 2 --hosts a,b
    """
    if nodes is not None:
        launch = Launch(launcher=launcher, hosts=hosts)
        create_on_nodes(context, [*chain(*words), "--device", device], launch, nodes=nodes)
        return
    from mbench.environments.choice import choose
    from mbench.environments.locate import provide
    from mbench.errors import UsageError
    from mbench.machine.devices import usual
    from mbench.measure.activity import ComparisonBegan, PhaseBegan, phases_of
    from mbench.reports.progress import open_progress
    from mbench.spec.arm import named, parse

    specs = [parse(text) for text in chain(*words)]
    adapters = [plugins(context).adapter(spec.name) for spec in specs]
    specs = [named(spec, one.name) for spec, one in zip(specs, adapters, strict=True)]
    accelerator = usual() if device == "auto" else device
    for spec in specs:
        if spec.python is not None:
            raise UsageError(f"{spec.text} uses your own Python: there is nothing to build")
    wanted = list(zip(specs, adapters, strict=True))
    chosen = choose(wanted, accelerator=accelerator, here=False)
    progress = open_progress(color=context.color)
    progress.hear(ComparisonBegan("environments", tuple(spec.text for spec in specs)))
    built = []
    try:
        for spec, adapter in wanted:
            report = phases_of(spec.text, progress)
            environment = provide(spec, adapter, chosen.get(spec.text), report=report)
            built.append(f"{spec.text}: {environment.python.parent.parent}")
            progress.hear(PhaseBegan(spec.text, "built", over=True))
    finally:
        progress.close()
        for line in built:
            say(line)


def create_on_nodes(
    context: click.Context, words: list[str], launch: Launch, *, nodes: int
) -> None:
    """Run the same command on each node."""
    from mbench.engine.launchers import Launchers
    from mbench.errors import UsageError

    with Launchers(plugins(context)) as launchers:
        launcher = launchers.open(launch, nodes=nodes, accelerators=0)
        do = getattr(launcher, "do", None)
        if do is None:
            raise UsageError(
                "this launcher only starts workers: leave out --nodes, or give mpi, slurm or ray",
                option="--launcher",
            )
        for line in do([sys.executable, "-m", "mbench", "env", "create", *words]).splitlines():
            say(line)


@command.command("list")
def list_() -> None:
    """List the environments: name, size, Python, requirements.

    \b
    Example:
      mbench env list
    """
    from mbench.environments import managed

    entries = managed.entries()
    if not entries:
        say(f"no environments in {managed.root()}")
    rows = []
    for entry in entries:
        of_both = [entry.name, f"{entry.size_bytes() / 2**20:.0f}"]
        if entry.record is None:
            rows.append([*of_both, "", "", f"broken: {entry.broken}"])
        else:
            record = entry.record
            made = [record.python, record.created]
            rows.append([*of_both, *made, ", ".join(record.requirements)])
    if rows:
        columns = ("environment", "MiB", "Python", "created", "requirements")
        whole = sum(float(row[1]) for row in rows)
        notes = [f"{whole:,.0f} MiB in {managed.root()}"]
        print_table(columns, rows, notes=notes, numeric=("MiB",), spare=("created",))


@command.command("remove")
@click.argument("names", nargs=-1, required=True, shell_complete=completer(environments))
def remove(names: tuple[str, ...]) -> None:
    """Delete environments by the names that mbench env list shows.

    \b
    Example:
      mbench env remove torch-py3.11-0123456789ab
    """
    from mbench.environments import managed

    for name in names:
        managed.remove(name)
        say(f"removed {name}")
