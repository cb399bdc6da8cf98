"""What mbench itself registers, through the same hooks as any plugin."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from mbench import workloads
from mbench.cli.late import COMMANDS, LateCommand
from mbench.errors import MbenchError
from mbench.machine.cuda import Cuda
from mbench.plugins.hooks import hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import click
    from rich.console import RenderableType

    from mbench.contract.device import Device
    from mbench.contract.rank import RankInfo
    from mbench.plugins.launcher import Launcher, Program, Worker
    from mbench.plugins.report import Exporter, Report
    from mbench.results.summary import Summary

__all__: list[str] = []

FORMATS = ("table", "details", "json", "csv", "markdown", "html", "junit")
GRIDS = ("table", "json", "csv", "markdown")
LAYOUTS = {"dlperf": GRIDS, "nvidia": GRIDS, "superbench": (*GRIDS, "jsonl")}
OUTLETS = ("mlflow",)
SHARED = ("branches", "cnn", "crops", "decoder", "find", "given", "images", "lessons", "masked",
          "operators")  # fmt: skip
"""Modules of `mbench.workloads` without models to measure by themselves, or with too many to list.
"""


@dataclass(frozen=True)
class LateOutlet:
    """An exporter whose module is not imported until it is used."""

    module: str

    def check(self) -> None:
        import_module(self.module).check()

    def __call__(self, summary: Summary, folder: Path, /) -> str:
        where: str = import_module(self.module).send(summary, folder)
        return where


@dataclass(frozen=True)
class LateLauncher:
    """A launcher for several nodes, whose module is not imported until it is needed."""

    name: str
    says: str
    """One line for `mbench list launchers`: where it starts processes."""
    takes_hosts: bool = False
    """Whether --hosts names the hosts."""

    def detect(self) -> bool:
        """Whether we are running inside its cluster."""
        detected: bool = import_module(f"mbench.engine.{self.name}").detect()
        return detected

    def check(self, *, nodes: int, hosts: str) -> None:
        """Raises UsageError for mistakes that can be seen before anything is started."""
        module = import_module(f"mbench.engine.{self.name}")
        if check := getattr(module, "check", None):
            check(nodes=nodes, hosts=hosts)

    def open(self, *, nodes: int, hosts: str, accelerators: int) -> Launcher:
        module = import_module(f"mbench.engine.{self.name}")
        opened: Launcher = module.open(nodes=nodes, hosts=hosts, accelerators=accelerators)
        return opened

    def __call__(self, program: Program, places: Sequence[RankInfo], /) -> Worker:
        raise MbenchError(
            f"the launcher {self.name} must be opened for its nodes before it starts workers"
        )


@hookimpl
def mbench_workloads() -> Mapping[str, str]:
    """Every model of every family: a module of `mbench.workloads` that has a mapping MODELS."""
    found = {}
    for family in iter_modules(workloads.__path__, f"{workloads.__name__}."):
        if family.name.rpartition(".")[2] not in SHARED:
            for model in import_module(family.name).MODELS:
                found[model] = f"{family.name}:MODELS"
    return found


@hookimpl
def mbench_scenarios() -> Mapping[str, str]:
    from mbench.scenarios.find import OURS, SCENARIOS

    return dict.fromkeys(SCENARIOS, OURS)


@hookimpl
def mbench_reports() -> Mapping[str, Report]:
    def late(name: str) -> Report:
        def render(summary: Summary, /) -> RenderableType:
            from mbench.reports.formats import FORMATS

            return FORMATS[name](summary)

        return render

    return {name: late(name) for name in FORMATS}


@hookimpl
def mbench_layouts() -> Mapping[str, Mapping[str, Report]]:
    def late(name: str, format_: str) -> Report:
        def render(summary: Summary, /) -> RenderableType:
            module = import_module(f"mbench.reports.compat_formats.{name}")
            report: RenderableType = module.render(summary, format_=format_)
            return report

        return render

    return {
        name: {format_: late(name, format_) for format_ in formats}
        for name, formats in LAYOUTS.items()
    }


@hookimpl
def mbench_exporters() -> Mapping[str, Exporter]:
    return {name: LateOutlet(f"mbench.reports.exporters.{name}") for name in OUTLETS}


@hookimpl
def mbench_launchers() -> Mapping[str, Launcher]:
    def local(program: Program, places: Sequence[RankInfo], /) -> Worker:
        """on this machine; the default for one node"""
        worker: Worker = import_module("mbench.engine.local").start(program, places)
        return worker

    late = (
        LateLauncher("slurm", "on the nodes of a Slurm job, by srun"),
        LateLauncher("ray", "on the nodes of the Ray cluster at RAY_ADDRESS"),
        LateLauncher(
            "mpi", "on the hosts in --hosts or of a batch job, by mpirun", takes_hosts=True
        ),
    )
    return {"local": local, **{launcher.name: launcher for launcher in late}}


@hookimpl
def mbench_devices() -> Sequence[Device]:
    return [Cuda()]


@hookimpl
def mbench_commands() -> Sequence[click.Command]:
    return [LateCommand(name, short_help=says) for name, says in COMMANDS.items()]
