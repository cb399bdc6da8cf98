"""`mbench list`: frameworks, models and runs, and plugins that are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mbench.commands.options import plugins, results_option
from mbench.commands.screen import color_option
from mbench.console import say, tell

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mbench.plugins import Plugins

__all__ = ["command"]


@click.command("list")
@click.argument("what", type=click.Choice(["all", "frameworks", "models", "runs"]), default="all")
@results_option
@color_option
@click.pass_context
def command(context: click.Context, what: str, results: Path) -> None:
    """List frameworks, models or runs; without a word, frameworks and families of models.

    `mbench list models` tells the size of each model and how it stands in every framework: proven,
    if `mbench verify` has proven it here as it comes; not proven yet; or unsupported, and why.

    \b
    Examples:
      mbench list
      mbench list models
      mbench list runs --results elsewhere
    """
    found = plugins(context)
    if what in ("all", "frameworks"):
        columns("frameworks", frameworks(found))
    if what == "all":
        columns("models", families(found))
    if what == "models":
        rows = models(found)
        reasons = stand(found, rows)
        columns("models", rows)
        for reason in reasons:
            say(reason)
    if what == "runs":
        columns(f"runs in {results}", runs(results))
    for offers in (found.adapters, found.workloads, found.reports, found.layouts, found.outlets,
                   found.launchers, found.commands, found.aliases):  # fmt: skip
        assert offers is not None  # asked for, so that every problem is known
    for problem in dict.fromkeys(found.problems):
        tell(f"problem: plugin {problem.plugin} {problem.message}")


def columns(title: str, rows: Sequence[Sequence[str]]) -> None:
    """Print left-aligned columns, or that there is nothing of that `title`."""
    if not rows:
        say(f"no {title}")
        return
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        say("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip())
    say()


def frameworks(found: Plugins) -> list[list[str]]:
    """Name, title, where it would run, compilers."""
    from mbench.environments.locate import home
    from mbench.telemetry.system import find_device

    device = find_device()
    return [
        [
            name,
            adapter.title,
            home(adapter, accelerator=device),
            "compilers " + ", ".join(adapter.compilers),
        ]
        for name, adapter in sorted(found.adapters.unique().items())
    ]


def families(found: Plugins) -> list[list[str]]:
    """Family, its models; a broken workload says so."""
    from mbench.errors import MbenchError
    from mbench.plan.selection import load_workload

    rows: dict[str, list[str]] = {}
    for name, reference in found.workloads.unique().items():
        try:
            rows.setdefault(load_workload(reference, name).family, []).append(name)
        except MbenchError as error:
            rows[name] = [str(error)]
    return [[family, " ".join(names)] for family, names in rows.items()]


def models(found: Plugins) -> list[list[str]]:
    """Name, title, parameters, forward GFLOPs per sample; a broken workload says so."""
    from mbench.errors import MbenchError
    from mbench.plan.selection import load_workload

    rows = []
    for name, reference in found.workloads.unique().items():
        try:
            workload = load_workload(reference, name)
        except MbenchError as error:
            rows.append([name, str(error), "", ""])
            continue
        parameters = f"{workload.parameter_count():,} parameters"
        rows.append(
            [name, workload.title, parameters, f"{workload.forward_flops() / 1e9:.2f} GFLOP"]
        )
    return rows


def stand(found: Plugins, rows: list[list[str]]) -> list[str]:
    """Add to each model's row how it stands in every framework; the reasons of what is not."""
    from mbench.equality.standing import standings

    stands = standings(found, [row[0] for row in rows if row[-1]])
    lacking: dict[str, tuple[str, list[str]]] = {}  # reasons that differ in the model's name only
    for row in rows:
        model = row[0]
        for framework in sorted(found.adapters.unique()):
            standing = stands.get((model, framework))
            row.append(f"{framework} {standing.word}" if standing else "")
            if standing and standing.reason:
                why = f"{framework} unsupported: {standing.reason}"
                lacking.setdefault(why.replace(model, "*"), (why, []))[1].append(model)
    return [f"{why} ({few(names)})" for why, names in sorted(lacking.values())]


def few(names: Sequence[str], *, most: int = 4) -> str:
    """The first names, and how many there are besides."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def runs(folder: Path) -> list[list[str]]:
    """Name, state, what was compared; a broken run says so."""
    from mbench.errors import MbenchError
    from mbench.results.run import find_runs, load_run

    rows = []
    for path in find_runs(folder):
        try:
            run = load_run(path)
            labels = dict.fromkeys(case.planned.label for case in run.cases.values())
            titles = dict.fromkeys(c.title for c in run.comparisons.values())
            rows.append([run.id, run.status, ", ".join(labels), "; ".join(titles)])
        except MbenchError as error:
            rows.append([path.name, "unreadable", str(error), ""])
    return rows
