"""Shell completion for the values of options and arguments."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from click.shell_completion import FishComplete, add_completion_class

from mbench.contract.axes import AXES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import click

    from mbench.contract.axes import Axis
    from mbench.plugins.manager import Plugins

    Values = Callable[[click.Context], Iterable[str]]
    Completer = Callable[[click.Context, click.Parameter, str], list[str]]

__all__ = [
    "arms",
    "complete_in_fish",
    "completer",
    "environments",
    "exporters",
    "formats",
    "frameworks",
    "layouts",
    "models",
    "of_option",
    "plugins",
    "protocols",
    "runs",
    "subjects",
]  # fmt: skip


SPLIT = 'string split "," $completion'


class WholeValues(FishComplete):
    """Completion for fish: click's own drops everything after the first comma of a value."""

    source_template = FishComplete.source_template.replace(
        SPLIT, SPLIT.replace("split", "split --max 1")
    )


def complete_in_fish() -> None:
    add_completion_class(WholeValues)


def plugins(context: click.Context) -> Plugins:
    found: Plugins = context.find_root().obj
    return found


def completer(values: Values, *, many: bool = False) -> Completer:
    """Offers `values` that continue the typed text; with `many`, the text after the last comma."""

    def complete(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",") if many else ("", "", incomplete)
        given = before.split(",")
        return [
            before + comma + value
            for value in values(context)
            if value.startswith(last) and value not in given
        ]

    return complete


def frameworks(context: click.Context) -> list[str]:
    found = plugins(context)
    return sorted([*found.adapters.unique(), *found.aliases])


def arms(names: Values = frameworks, *, many: bool = False) -> Completer:
    """Offers frameworks and, after a framework's colon, its settings."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        last = incomplete.rpartition(",")[2] if many else incomplete
        arm, colon, _ = last.rpartition(":")
        values = partial(settings, arm) if colon else names
        return completer(values, many=many)(context, parameter, incomplete)

    return complete


def settings(arm: str, context: click.Context) -> list[str]:
    """The arm with each setting that may follow it."""
    from mbench.errors import MbenchError
    from mbench.spec.arm import Arm, words

    try:
        known = words(plugins(context).adapter(Arm(arm).spec.name))
    except MbenchError:
        return []
    return [f"{arm}:{word}" for word in known if word not in arm.split(":")]


def models(context: click.Context) -> list[str]:
    """Models, mbench's own families (named after their modules), and the word for all of these."""
    from mbench.spec.selection import ZOO

    offered = plugins(context).workloads.unique()
    ours = {reference.partition(":")[0] for reference in offered.values()}
    families = {name.rpartition(".")[2] for name in ours if name.startswith("mbench.")}
    return sorted({*offered, *families, ZOO})


def modes(context: click.Context) -> list[str]:
    return sorted(plugins(context).scenarios.unique())


def compilers(context: click.Context) -> list[str]:
    from mbench.spec.planning import BEST, DEFAULT

    adapters = plugins(context).adapters.unique().values()
    return sorted({DEFAULT, BEST, *(name for adapter in adapters for name in adapter.compilers)})


def protocols(_: click.Context) -> list[str]:
    from mbench.spec.presets import PRESETS

    return list(PRESETS)


def formats(context: click.Context) -> list[str]:
    found = plugins(context)
    layout = context.params.get("layout") or ""
    return sorted(found.layouts.unique().get(layout, found.reports.unique()))


def layouts(context: click.Context) -> list[str]:
    return sorted(plugins(context).layouts.unique())


def exporters(context: click.Context) -> list[str]:
    return sorted(plugins(context).exporters.unique())


def runs(context: click.Context) -> list[str]:
    """Runs, the latest first."""
    from mbench.results.folder import default_folder, find_runs

    found = find_runs(context.params.get("results") or default_folder())
    return [run.name for run in reversed(found)]


def subjects(context: click.Context) -> list[str]:
    """What `mbench run` accepts by name."""
    from mbench.spec.suite import suite_names

    return [*suite_names(), *frameworks(context)]


def environments(_: click.Context) -> list[str]:
    from mbench.environments import managed

    return managed.names()


def of_option(name: str) -> Completer | None:
    """The completer for an experiment's option; None if there is nothing to suggest."""
    known: dict[str, Values] = {
        "models": models,
        "operators": models,
        "mode": modes,
        "compiler": compilers,
        "batch_size": lambda _: ["max"],
        **{one.name: partial(listed, one) for one in AXES if one.known and one.many},
    }
    if name in known:
        return completer(known[name], many=True)
    return completer(protocols) if name == "protocol" else None


def listed(axis: Axis, _: click.Context) -> list[str]:
    return list(axis.known)
