"""Option types and option groups that commands share."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mbench.results.folder import default_folder

if TYPE_CHECKING:
    from mbench.plugins.manager import Plugins
    from mbench.plugins.report import Exporter, Report

__all__ = [
    "ARMS",
    "COMMAS",
    "SIZE",
    "Commas",
    "Decorator",
    "DeviceName",
    "apply",
    "chosen_exporter",
    "chosen_report",
    "plugins",
    "results_option",
]


class Commas(click.ParamType[Any]):
    """A comma-separated list, of which no item is empty."""

    name = "list"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Any, ...]:
        if isinstance(value, tuple):
            return value
        items = [item.strip() for item in self.split(value)]
        if not all(items):
            self.fail(f"{value!r} holds an empty item", param, ctx)
        return tuple(self.item(item, param, ctx) for item in items)

    def split(self, text: str) -> list[str]:
        return text.split(",")

    def joined(self, items: Iterable[Any]) -> str:
        """As one would type them."""
        return ",".join(map(str, items))

    def item(self, text: str, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return text


class Arms(Commas):
    """Frameworks with settings, in whose values a comma is doubled."""

    def split(self, text: str) -> list[str]:
        found: list[str] = []
        for item in re.split(r"(?<!,),(?!,)", text):
            is_value = "=" in item.partition(",,")[0]
            found += [item.replace(",,", ",")] if is_value else item.split(",")
        return found

    def joined(self, items: Iterable[Any]) -> str:
        return ",".join(str(item).replace(",", ",,") for item in items)


class DeviceName(click.Choice[str]):
    """ "auto", or a kind of device that a plugin has: looked for when it is asked for."""

    def __init__(self) -> None:
        super().__init__(())

    @property
    def choices(self) -> tuple[str, ...]:
        from mbench.machine.devices import names

        return ("auto", *names())

    @choices.setter
    def choices(self, _: object) -> None:
        """click's own are none."""


class Memory(click.ParamType[Any]):
    """An amount of memory: "6GiB", "500 MB"."""

    name = "size"
    units = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}  # noqa: RUF012

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?) ?([A-Za-z]+)", str(value).strip())
        if isinstance(value, int):
            return value
        if not found or found[2].upper() not in self.units or float(found[1]) == 0:
            self.fail(f"{value!r} is no amount of memory like 6GiB or 500MB", param, ctx)
        return int(float(found[1]) * self.units[found[2].upper()])


class Seconds(click.FloatRange):
    """A finite time above 0."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            seconds = float(value)
        except ValueError:
            seconds = math.nan
        if not 0 < seconds < math.inf:
            self.fail(f"{str(value)!r} is not a number of seconds above 0", param, ctx)
        return seconds


class Whole(click.IntRange):
    """A whole number that is not below `min`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number: int = super().convert(value, param, ctx)
        except click.BadParameter:
            said = f"{str(value)!r} is not a whole number of {self.min} or more"
            self.fail(said, param, ctx)
        return number


class Percent(click.ParamType[Any]):
    """A percentage below 100 %, as a share: "2%" is 0.02. 0 % only where `zero` allows it."""

    name = "percent"

    def __init__(self, *, zero: bool = False) -> None:
        self.zero = zero

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, float):
            return value
        number, sign, rest = str(value).partition("%")
        if not sign and re.fullmatch(r"\d{1,2}(\.\d+)?", number):
            self.fail(f"{value!r} has no unit: write {value}%", param, ctx)
        try:
            share = float(number) / 100
        except ValueError:
            share = -1.0
        if not sign or rest or not (0 < share < 1 or (self.zero and share == 0)):
            self.fail(f"{value!r} is not a percentage like 2% or 0.5%", param, ctx)
        return share


ARMS = Arms()
COMMAS = Commas()
MEMORY = Memory()
SIZE = Whole(min=1)
SECONDS = Seconds(min=0, min_open=True)

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def apply(options: list[Decorator]) -> Decorator:
    """One decorator of several options that keeps their order in the help."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


results_option = click.option(
    "--results", type=click.Path(path_type=Path, file_okay=False), default=default_folder,
    envvar="MBENCH_RESULTS",  # so that it wins over a file of defaults
    show_default="mbench-results", help="Folder that holds all runs.",
)  # fmt: skip

timeout_option = click.option(
    "--timeout", type=SECONDS, default=900.0, show_default=True,
    help="Longest wait for a worker's answer, in seconds.",
)  # fmt: skip

launcher_option = click.option(
    "--launcher", default=None, metavar="NAME",
    help="What starts the processes: local, mpi, slurm, ray.  [default: local for one node, else "
         "what is found around mbench]",
)  # fmt: skip

hosts_option = click.option(
    "--hosts", default=None, metavar="A,B|@FILE",
    help="Hosts of MPI, one for each node; or a file that names one in each line.",
)  # fmt: skip

provision_option = click.option(
    "--provision/--no-provision", default=True, show_default=True,
    help="Build a framework's environment where there is none.",
)  # fmt: skip


def chosen_exporter(context: click.Context, name: str | None) -> Exporter | None:
    """What --log asks for; raises MbenchError where there is no such thing, or it is not ready."""
    if name is None:
        return None
    exporter = plugins(context).exporter(name)
    if check := getattr(exporter, "check", None):
        check()
    return exporter


def chosen_report(context: click.Context, format_: str, layout: str | None) -> Report:
    """What --format and --layout ask for; raises UsageError where there is no such thing."""
    if layout is None:
        return plugins(context).report(format_)
    return plugins(context).laid_out(layout, format_)


def plugins(context: click.Context) -> Plugins:
    found: Plugins = context.find_root().obj
    return found
