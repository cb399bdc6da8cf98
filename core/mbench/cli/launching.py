"""By what means a command starts its workers: on this machine, or by a cluster's own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from mbench.cli.options import plugins
from mbench.contract.device import HOST
from mbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import click

    from mbench.contract.scale import Scale
    from mbench.machine.records import Machine
    from mbench.plugins.launcher import Launcher
    from mbench.spec.planning import Comparison

__all__ = ["elsewhere", "launcher_of", "opened"]

OPEN = "mbench.launchers"
"""Where a command's context keeps those that it opened: their agents are started once."""
LOCAL, WITH_HOSTS = "local", "mpi"
SIGNS = {"SLURM_JOB_ID": "slurm", "RAY_ADDRESS": "ray"}
"""Variables around mbench that tell of a cluster, with its launcher."""


def launcher_of(
    context: click.Context, comparisons: Sequence[Comparison], options: dict[str, Any]
) -> Launcher:
    """What is asked for, or fits what is to be measured; raises UsageError where it cannot be had.

    One that holds nodes gives them back when the command ends.
    """
    scales = [entry.case.places for one in comparisons for entry in one.entries]
    nodes = max(scale.nodes for scale in scales)
    devices = max(scale.devices_per_node for scale in scales)
    device = next(entry.case.device for one in comparisons for entry in one.entries)
    return opened(context, options, nodes=nodes, accelerators=0 if device == HOST else devices)


def elsewhere(
    context: click.Context, options: dict[str, Any], scales: Sequence[Scale]
) -> list[Machine]:
    """The machines of a command that measures at these scales, once they are reached; none where
    that is this one. Raises UsageError, or MbenchError where they cannot be.

    What a launcher must be asked for devices is not known where they are what is to be found.
    """
    from mbench.engine.machines import machines

    nodes = max((scale.nodes for scale in scales), default=1)
    devices = max((scale.devices_per_node for scale in scales), default=1)
    name = options.get("launcher") or chosen(nodes, options.get("hosts"))
    if name == LOCAL:
        return []
    device = options["device"]
    try:
        accelerators = 0 if device == HOST else devices
        launcher = opened(context, options, nodes=nodes, accelerators=accelerators)
    except UsageError:
        if device not in (None, "auto"):
            raise
        launcher = opened(context, options, nodes=nodes, accelerators=0)
    return [machine for host, machine in machines(launcher).items() if host]


def opened(
    context: click.Context, options: dict[str, Any], *, nodes: int, accelerators: int
) -> Launcher:
    """The launcher of so many nodes, with so many accelerators each; raises UsageError."""
    name, hosts = options["launcher"], options["hosts"]
    if name is None:
        name = chosen(nodes, hosts)
    if hosts and name != WITH_HOSTS:
        raise UsageError(f"--hosts goes with --launcher {WITH_HOSTS}, not {name}", option="--hosts")
    if name == LOCAL and nodes > 1:
        raise UsageError(
            f"--launcher {LOCAL} starts processes of this machine, and {nodes} nodes are asked "
            "for; give another launcher, or 1 node",
            option="--launcher",
        )
    launcher = plugins(context).launcher(name)
    opens = getattr(launcher, "open", None)
    if opens is None:
        return launcher
    known: list[tuple[tuple[str, str | None], int, int, Launcher]]
    known = context.meta.setdefault(OPEN, [])
    for where, most, each, one in known:
        if where == (name, hosts) and most >= nodes and each >= accelerators:
            return one
    found: Launcher = opens(nodes=nodes, hosts=hosts or "", accelerators=accelerators)
    known.append(((name, hosts), nodes, accelerators, found))
    context.call_on_close(found.close)  # type: ignore[attr-defined]
    return found


def chosen(nodes: int, hosts: str | None) -> str:
    """The launcher where none is named; raises UsageError where nothing tells of one."""
    if hosts:
        return WITH_HOSTS
    if nodes == 1:
        return LOCAL
    for variable, name in SIGNS.items():
        if os.environ.get(variable):
            return name
    raise UsageError(
        f"{nodes} nodes are asked for, and nothing tells where they are: start mbench within a "
        "job of Slurm (salloc, sbatch), give MPI's --hosts a,b or --hosts @FILE, set RAY_ADDRESS, "
        "or keep to this machine with 1 node, as in --scale 1x2",
        option="--scale",
    )
