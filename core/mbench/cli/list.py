"""`mbench list`: frameworks, models and runs, and plugins that are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mbench.cli.options import plugins, results_option
from mbench.cli.output import print_table
from mbench.cli.screen import color_option
from mbench.console import counted, say, tell

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mbench.contract.workload import Workload
    from mbench.plugins.manager import Plugins

__all__ = ["command"]


MOST_TITLES = 2
"""How many comparisons of a run its row names: a suite or a breakdown has dozens."""


WHAT = ("all", "frameworks", "models", "operators", "modes", "suites", "tasks", "launchers",
        "runs")  # fmt: skip


class What(click.Choice[str]):
    """One of the lists, or the name of a framework."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        known = None if value in WHAT or ctx is None else plugins(ctx).framework(value)
        return super().convert(value, param, ctx) if known is None else known


@click.command("list")
@click.argument("what", type=What(WHAT), default="all", metavar=f"[{'|'.join(WHAT)}|FRAMEWORK]")
@results_option
@color_option
@click.pass_context
def command(context: click.Context, what: str, results: Path) -> None:
    """List frameworks, models, operators, modes, suites, tasks, launchers or runs.

    Without an argument: frameworks and families of models.

    `mbench list models` shows the size of each model and its status in every framework: proven or
    shown in fp32, if `mbench verify` has done so here with default settings; - if not yet; no if it
    is unsupported, and why. `mbench list FRAMEWORK` shows what is known of one framework.

    \b
    Examples:
      mbench list
      mbench list models
      mbench list operators
      mbench list suites
      mbench list torch
      mbench list runs --results elsewhere
    """
    found = plugins(context)
    if what in ("all", "frameworks"):
        rows, broken = frameworks(found)
        show("frameworks", ("framework", "title", "runs in", "compilers"), rows, notes=broken)
    if what == "all":
        rows, broken = families(found)
        say()
        show("models", ("family", "models"), rows, notes=broken)
    if what == "models":
        rows, broken = models(found)
        reasons = stand(found, rows)
        columns = ("model", "title", "parameters", "GFLOP", *sorted(found.adapters.unique()))
        show("models", columns, rows, notes=[*broken, *reasons], numeric=("parameters", "GFLOP"),
             spare=("GFLOP", "parameters", "title"))  # fmt: skip
    if what == "operators":
        show("operators", ("typed as", "what it is"), operators())
    if what == "modes":
        rows, broken = modes(found)
        show("modes", ("mode", "a step is"), rows, notes=broken)
    if what == "suites":
        show("suites", ("suite", "what it measures"), suites(), notes=["mbench run SUITE runs one"])
    if what == "tasks":
        show("tasks", ("task", "what it trains"), tasks(found),
             notes=["mbench train --task TASK uses one"])  # fmt: skip
    if what == "launchers":
        show("launchers", ("launcher", "where it starts processes"), launchers(found),
             notes=["--launcher NAME selects one"])  # fmt: skip
    if what not in WHAT:
        from mbench.cli.framework import facts

        show(what, (what, "as its adapter describes it"), list(facts(found, what)))
    if what == "runs":
        rows, broken = runs(results)
        show(f"runs in {results}", ("run", "state", "frameworks", "comparisons"), rows,
             notes=broken)  # fmt: skip
    for offers in (found.adapters, found.workloads, found.scenarios, found.reports, found.layouts,
                   found.exporters, found.launchers, found.commands, found.aliases):  # fmt: skip
        assert offers is not None  # loaded so that every problem is known
    for problem in dict.fromkeys(found.problems):
        tell(f"problem: plugin {problem.plugin} {problem.message}")


def show(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], **shape: Sequence[str]
) -> None:
    """Prints a table, or says that there is nothing of that `title`."""
    if rows:
        print_table(columns, rows, **shape)
    else:
        say(f"no {title}")


def tasks(found: Plugins) -> list[list[str]]:
    from mbench.learning.task import find_task, task_names

    return [[name, find_task(name, found).title] for name in task_names()]


def frameworks(found: Plugins) -> tuple[list[list[str]], list[str]]:
    """Rows of name, title, where it would run, and compilers; and what is wrong with some."""
    from mbench.environments.locate import describe_location
    from mbench.errors import MbenchError
    from mbench.machine.devices import usual
    from mbench.plugins.description import mistakes
    from mbench.plugins.programs import missing

    device = usual()
    rows, broken = [], []
    for name, adapter in sorted(found.adapters.unique().items()):
        try:
            where = describe_location(adapter, accelerator=device)
        except MbenchError as error:
            where = "nowhere"
            broken.append(str(error))
        if lacking := missing(adapter):
            broken.append(lacking)
        broken += [f"{name}: {mistake}" for mistake in mistakes(adapter)]
        rows.append([name, adapter.title, where, ", ".join(adapter.compilers)])
    return rows, broken


def families(found: Plugins) -> tuple[list[list[str]], list[str]]:
    """Rows of a family and its models; and what is wrong with models that do not load."""
    rows: dict[str, list[str]] = {}
    broken = []
    for name, reference in found.workloads.unique().items():
        workload = load(name, reference)
        if isinstance(workload, str):
            broken.append(workload)
        else:
            rows.setdefault(workload.family, []).append(name)
    return [[family, " ".join(names)] for family, names in rows.items()], broken


def models(found: Plugins) -> tuple[list[list[str]], list[str]]:
    """Rows of name, title, parameters, forward GFLOPs per sample; and what is wrong with others."""
    rows, broken = [], []
    for name, reference in found.workloads.unique().items():
        workload = load(name, reference)
        if isinstance(workload, str):
            broken.append(workload)
        else:
            gflop = f"{workload.forward_flops() / 1e9:.2f}"
            rows.append([name, workload.title, f"{workload.parameter_count():,}", gflop])
    return rows, broken


def modes(found: Plugins) -> tuple[list[list[str]], list[str]]:
    """Rows of name and what a step is; and what is wrong with modes that do not load."""
    from mbench.errors import MbenchError
    from mbench.scenarios.find import find_scenarios
    from mbench.spec.selection import scenario_reference

    rows, broken = [], []
    for name in found.scenarios.unique():
        try:
            reference = scenario_reference(name, found.scenarios)
            rows.append([name, find_scenarios(name, reference)[0].says])
        except MbenchError as error:
            broken.append(f"{name}: {error}")
    return rows, broken


def suites() -> list[list[str]]:
    """Rows of name and title of the suites that come with mbench."""
    from mbench.spec.suite import find_suite, suite_names

    known = ((name, find_suite(name)) for name in suite_names())
    return [[name, suite.title] for name, suite in known if suite is not None]


def launchers(found: Plugins) -> list[list[str]]:
    """Rows of name and the launcher's description: its attribute `says`, or its docstring."""
    return [
        [name, getattr(launcher, "says", "") or (launcher.__doc__ or "").partition("\n")[0]]
        for name, launcher in sorted(found.launchers.unique().items())
    ]


def operators() -> list[list[str]]:
    """Rows of how each kind of operator is typed and what it computes."""
    from mbench.workloads.operators import COLLECTIVES, KINDS

    return [[kind.usage(), kind.says] for kind in (*KINDS.values(), *COLLECTIVES.values())]


def load(name: str, reference: str) -> Workload | str:
    """The workload, or one line saying why it does not load."""
    from mbench.errors import MbenchError
    from mbench.spec.selection import load_workload

    try:
        return load_workload(reference, name)
    except MbenchError as error:
        return f"{name}: {error}"


def stand(found: Plugins, rows: list[list[str]]) -> list[str]:
    """Add each model's status in every framework to its row; returns how many are proven in each,
    and why others are unsupported.
    """
    from mbench.proofs.cache import NOT_YET, UNSUPPORTED, proof_statuses

    cells = {NOT_YET: "-", UNSUPPORTED: "no"}
    proven = dict.fromkeys(sorted(found.adapters.unique()), 0)
    stands = proof_statuses(found, [row[0] for row in rows])
    lacking: dict[str, tuple[str, list[str]]] = {}  # reasons that differ only in the model's name
    for row in rows:
        model = row[0]
        for framework in proven:
            standing = stands.get((model, framework))
            word = standing.word if standing else UNSUPPORTED
            row.append(cells.get(word, word))
            proven[framework] += word not in cells
            if standing and standing.reason:
                why = f"{framework} unsupported: {standing.reason}"
                lacking.setdefault(why.replace(model, "*"), (why, []))[1].append(model)
    counts = ", ".join(f"{framework} {count}" for framework, count in proven.items())
    summary = (
        f"models proven here, out of {len(rows)}: {counts}; mbench verify FRAMEWORK proves more"
    )
    return [summary, *(f"{why} ({few(names)})" for why, names in sorted(lacking.values()))]


def few(names: Sequence[str], *, most: int = 4) -> str:
    """The first names, and how many more there are."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def runs(folder: Path) -> tuple[list[list[str]], list[str]]:
    """Rows of name, state, what was compared; and what is wrong with runs that cannot be read."""
    from mbench.errors import MbenchError
    from mbench.results.run import find_runs, load_run

    rows, broken, empty = [], [], 0
    for path in find_runs(folder):
        try:
            run = load_run(path)
            if not run.has_measured:
                empty += 1
                continue
            labels = dict.fromkeys(case.planned.label for case in run.cases.values())
            titles = list(dict.fromkeys(c.title for c in run.comparisons.values()))
            rest = [f"{len(titles) - MOST_TITLES} more"] if len(titles) > MOST_TITLES else []
            said = "; ".join([*titles[:MOST_TITLES], *rest])
            rows.append([run.id, run.status, ", ".join(labels), said])
        except MbenchError as error:
            rows.append([path.name, "unreadable", "", ""])
            broken.append(str(error))
    if empty:
        broken.append(f"left out: {counted(empty, 'run')} without a measured round")
    return rows, broken
