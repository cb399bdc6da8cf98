"""The hooks that a plugin may implement; mbench's own parts are registered through them too."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import click

    from mbench.contract.adapter import Adapter
    from mbench.contract.device import Device
    from mbench.plugins.launcher import Launcher
    from mbench.plugins.report import Exporter, Report

__all__ = ["hookimpl"]

F = TypeVar("F")

try:
    import pluggy
except ModuleNotFoundError:  # a worker reads descriptions without pluggy; it calls no hooks

    def hookimpl(function: F) -> F:
        return function

    hookspec = hookimpl
else:
    hookspec = pluggy.HookspecMarker("mbench")  # type: ignore[assignment]
    hookimpl = pluggy.HookimplMarker("mbench")  # type: ignore[assignment]


@hookspec
def mbench_adapters() -> Sequence[Adapter]:  # type: ignore[empty-body]
    """Frameworks that can be measured."""


@hookspec
def mbench_devices() -> Sequence[Device]:  # type: ignore[empty-body]
    """Kinds of device that frameworks can compute on, besides the machine itself."""


@hookspec
def mbench_workloads() -> Mapping[str, str]:  # type: ignore[empty-body]
    """Models by name, each as "module:attribute" of a Workload, or of Workloads by name."""


@hookspec
def mbench_scenarios() -> Mapping[str, str]:  # type: ignore[empty-body]
    """Modes by name, each as "module:attribute" of a Scenario, or of Scenarios by name."""


@hookspec
def mbench_reports() -> Mapping[str, Report]:  # type: ignore[empty-body]
    """Report formats, by the name that `--format` accepts."""


@hookspec
def mbench_layouts() -> Mapping[str, Mapping[str, Report]]:  # type: ignore[empty-body]
    """Layouts, by the name that `--layout` accepts, each with its reports by format."""


@hookspec
def mbench_exporters() -> Mapping[str, Exporter]:  # type: ignore[empty-body]
    """Exporters to other tools, by the name that `--log` accepts."""


@hookspec
def mbench_launchers() -> Mapping[str, Launcher]:  # type: ignore[empty-body]
    """Ways to start the processes of a worker, by name."""


@hookspec
def mbench_commands() -> Sequence[click.Command]:  # type: ignore[empty-body]
    """Commands besides mbench's own."""
