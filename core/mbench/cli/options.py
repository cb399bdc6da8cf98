"""Command-line options: those of experiments, and others that commands share."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from mbench.cli.completion import arms, completer, of_option, plugins, runs
from mbench.cli.grouped import GroupedCommand
from mbench.errors import UsageError
from mbench.results.folder import default_folder
from mbench.spec import values
from mbench.spec.option import METAVARS, Option
from mbench.spec.options import (
    CASES,
    CHECKS,
    EFFORTS,
    LAUNCH,
    OPTIONS,
    PROTOCOL,
    TRAINING,
    known_devices,
    switches,
)

if TYPE_CHECKING:
    from mbench.plugins.report import Exporter, Report
    from mbench.spec.option import Given

__all__ = [
    "ARMS",
    "COMMAS",
    "MEMORY",
    "NAMED",
    "SECONDS",
    "SIZE",
    "CaseCommand",
    "Decorator",
    "DeviceName",
    "Value",
    "apply",
    "case_options",
    "check_options",
    "chosen_exporter",
    "chosen_report",
    "explicit",
    "frameworks_options",
    "given_of",
    "launch_options",
    "metric_option",
    "node_options",
    "overridden",
    "plugins",
    "proof_options",
    "protocol_options",
    "results_option",
    "resume_option",
    "training_options",
]

SHORTER = {"batch_size": ("--batch",)}
"""Other ways to type an option."""
NAMED = "mbench.named"
"""Where a command's context keeps the frameworks that are arguments."""

Function = Callable[..., object]
Decorator = Callable[[Function], Function]


class Value(click.ParamType[object]):
    """A click type that uses an option's own reader."""

    def __init__(self, read: values.Reader, metavar: str = "") -> None:
        self.read = read
        self.name = (metavar or METAVARS.get(read, "TEXT")).lower()

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        if isinstance(value, tuple):  # already read
            return value
        try:
            return self.read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class DeviceName(click.Choice[str]):
    """ "auto", or a kind of device from a plugin, looked up only when asked for."""

    def __init__(self) -> None:
        super().__init__(())

    @property
    def choices(self) -> tuple[str, ...]:
        return tuple(known_devices())

    @choices.setter
    def choices(self, _: object) -> None:
        """Ignored: click assigns this attribute."""


ARMS = Value(values.frameworks)
COMMAS = Value(values.names)
MEMORY = Value(values.memory)
SECONDS = Value(values.seconds)
SIZE = Value(values.whole)


def apply(options: list[Decorator]) -> Decorator:
    """Combines several options into one decorator that keeps their order in the help."""

    def decorate(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def of_experiment(option: Option) -> click.Option:
    """The click option for an experiment's option. If it is not given, its value is None."""
    says = f"{option.says}  [default: {option.default}]" if option.default else option.says
    if option.is_switch:
        flags = option.flag if option.one_way else f"{option.flag}/--no-{option.key}"
        return click.Option([flags, option.name], default=None, is_flag=True, help=says)
    if option.read is values.sizes:
        return click.Option([option.flag, option.name], multiple=True, metavar=option.shown,
                            callback=sizes, help=says)  # fmt: skip
    kind = DeviceName() if option.choices else Value(option.read, option.shown)
    spellings = [option.flag, *SHORTER.get(option.name, ())]
    return click.Option([*spellings, option.name], type=kind, default=None, help=says,
                        shell_complete=of_option(option.name))  # fmt: skip


def sizes(
    context: click.Context, param: click.Parameter, given: tuple[str, ...]
) -> dict[str, int] | None:
    """The sizes of an option that may be given several times."""
    try:
        return values.sizes(given) or None
    except ValueError as error:
        raise click.BadParameter(str(error), context, param) from None


def group(options: tuple[Option, ...]) -> Decorator:
    """A decorator that adds several options of experiments."""

    def decorate(function: Function) -> Function:
        for option in reversed(options):
            function = with_parameter(function, of_experiment(option))
        return function

    return decorate


def with_parameter(function: Function, parameter: click.Parameter) -> Function:
    """Stores the parameter for the future command, as click's own decorators do."""
    kept: list[click.Parameter] = vars(function).setdefault("__click_params__", [])
    kept.append(parameter)
    return function


case_options = group(CASES)
protocol_options = group(PROTOCOL)
launch_options = group(LAUNCH)
node_options = group((OPTIONS["launcher"], OPTIONS["hosts"]))
proof_options = group(tuple(option for option in LAUNCH if option.name != "memory_limit"))
check_options = group(CHECKS)
training_options = group(TRAINING)


class CaseCommand(GroupedCommand):
    """A command with the options of cases, and with the switches that adapters offer."""

    def get_params(self, context: click.Context) -> list[click.Parameter]:
        params = super().get_params(context)
        at = 1 + [param.name for param in params].index("compiler")
        return [*params[:at], *map(of_switch, switches(plugins(context))), *params[at:]]


@cache
def of_switch(option: Option) -> click.Option:
    return of_experiment(option)


def given_of(context: click.Context) -> Given:
    """The options of an experiment that a command was given, by name; see `overridden`."""
    known = {*OPTIONS, *(option.name for option in switches(plugins(context)))}
    unused = overridden(context)
    return {
        name: value
        for name, value in context.params.items()
        if name in known and name not in unused and value is not None
    }


def explicit(context: click.Context) -> set[str]:
    """The options that were typed."""
    typed = ParameterSource.COMMANDLINE
    return {name for name in context.params if context.get_parameter_source(name) is typed}


def overridden(context: click.Context) -> set[str]:
    """Options from a file of defaults that a typed --fast or --rigorous overrides, since it
    determines the effort.
    """
    if not explicit(context) & EFFORTS.keys():
        return set()
    of_efforts = {*EFFORTS, *(name for options in EFFORTS.values() for name in options)}
    by_file = ParameterSource.DEFAULT_MAP
    return {name for name in of_efforts if context.get_parameter_source(name) is by_file}


def keep(context: click.Context, _: click.Parameter, named: tuple[tuple[str, ...], ...]) -> None:
    context.meta[NAMED] = tuple(chain(*named))


def choose(context: click.Context, _: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Frameworks from the arguments, else from the option; raises UsageError if both are given."""
    named: tuple[str, ...] = context.meta[NAMED]
    typed = context.get_parameter_source("frameworks") is ParameterSource.COMMANDLINE
    if named and typed:
        raise UsageError(
            f"{' '.join(named)} and --frameworks {','.join(given)} both name frameworks; "
            "give one of them",
            option="--frameworks",
        )
    return named or given


def frameworks_options(*, help: str) -> Decorator:  # noqa: A002
    """Frameworks as arguments or as an option: the command's `frameworks`, which may be empty."""
    completed = arms(many=True)
    return apply(
        [
            click.argument("named", nargs=-1, type=ARMS, metavar="[FRAMEWORK]...",
                           expose_value=False, is_eager=True,  # before --frameworks
                           callback=keep, shell_complete=completed),
            click.option("--frameworks", type=ARMS, default=(), callback=choose, help=help,
                         shell_complete=completed),
        ]
    )  # fmt: skip


results_option = click.option(
    "--results", type=click.Path(path_type=Path, file_okay=False), default=default_folder,
    envvar="MBENCH_RESULTS",  # so that it wins over a file of defaults
    show_default="mbench-results", help="Folder that holds all runs.",
)  # fmt: skip

metric_option = click.option(
    "--metric", default="", metavar="NAME",
    help=f"{OPTIONS['metric'].says}  [default: the run's own]",
)  # fmt: skip

resume_option = click.option(
    "--resume", default=None, metavar="RUN", shell_complete=completer(runs),
    help="Continue RUN: measure the rest, or the missing processes. --processes, --until and "
    "--budget add more to it.",
)  # fmt: skip


def chosen_exporter(context: click.Context, name: str | None) -> Exporter | None:
    """The exporter that --log names; raises MbenchError if it does not exist or is not ready."""
    if name is None:
        return None
    exporter = plugins(context).exporter(name)
    if check := getattr(exporter, "check", None):
        check()
    return exporter


def chosen_report(context: click.Context, format_: str, layout: str | None) -> Report:
    """The report that --format and --layout select; raises UsageError if it does not exist.

    With --verbose, the table has all its notes.
    """
    if layout is None:
        if format_ == "table" and context.params.get("verbosity") == "verbose":
            format_ = "details"
        return plugins(context).report(format_)
    return plugins(context).laid_out(layout, format_)
