"""Opens the launcher of an experiment: for this machine, or for the cluster it belongs to."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from mbench.contract.device import HOST
from mbench.engine.machines import machines
from mbench.errors import UsageError
from mbench.spec.experiment import AUTO

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from mbench.contract.rank import Scale
    from mbench.machine.records import Machine
    from mbench.plugins.launcher import Launcher
    from mbench.plugins.manager import Plugins
    from mbench.spec.experiment import Launch

__all__ = ["Launchers"]

LOCAL = "local"


class Opened(NamedTuple):
    """A launcher that holds nodes, and what it was opened for."""

    name: str
    hosts: str | None
    nodes: int
    accelerators: int
    launcher: Launcher


class Launchers:
    """The launchers of one command, each opened once; as a context, it closes them at its end."""

    def __init__(self, plugins: Plugins, *, dry: bool = False) -> None:
        """`dry`: start nothing and reach no other machine, but check what can be checked here."""
        self.plugins, self.dry = plugins, dry
        self.unasked = ""
        """The launcher whose machines a dry run did not query."""
        self.opened: list[Opened] = []
        self.closing = ExitStack()

    def __enter__(self) -> Launchers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the nodes that are held."""
        self.closing.close()

    def elsewhere(self, launch: Launch, scales: Sequence[Scale]) -> list[Machine]:
        """The machines on which workers at these scales run; none if they run on this one.

        Raises UsageError, or MbenchError if the machines cannot be reached. While the device is
        still to be chosen, it is not known how many devices to ask a launcher for.
        """
        nodes = max((scale.nodes for scale in scales), default=1)
        devices = max((scale.devices_per_node for scale in scales), default=1)
        if self.dry or self.name_of(launch, nodes=nodes) == LOCAL:
            return []
        try:
            accelerators = 0 if launch.device == HOST else devices
            launcher = self.open(launch, nodes=nodes, accelerators=accelerators)
        except UsageError as error:
            if launch.device != AUTO or error.option != "--scale":  # it would fail again
                raise
            launcher = self.open(launch, nodes=nodes, accelerators=0)
        return [machine for host, machine in machines(launcher).items() if host]

    def open(self, launch: Launch, *, nodes: int, accelerators: int) -> Launcher:
        """The launcher for this many nodes, with this many accelerators each.

        Raises UsageError if there is none.
        """
        name = self.name_of(launch, nodes=nodes)
        launcher = self.plugins.launcher(name)
        if launch.hosts and not getattr(launcher, "takes_hosts", False):
            raise UsageError(
                f"--hosts goes with --launcher {' or '.join(self.with_hosts())}, not {name}",
                option="--hosts",
            )
        if name == LOCAL and nodes > 1:
            raise UsageError(
                f"--launcher {LOCAL} starts processes on this machine only, but {nodes} nodes are "
                "requested; give another launcher, or 1 node",
                option="--launcher",
            )
        opens = getattr(launcher, "open", None)
        if opens is None:
            return launcher
        if self.dry:
            if check := getattr(launcher, "check", None):
                check(nodes=nodes, hosts=launch.hosts or "")
            self.unasked = name
            return self.plugins.launcher(LOCAL)
        for one in self.opened:
            same = (one.name, one.hosts) == (name, launch.hosts)
            if same and one.nodes >= nodes and one.accelerators >= accelerators:
                return one.launcher
        found: Launcher = opens(nodes=nodes, hosts=launch.hosts or "", accelerators=accelerators)
        self.opened.append(Opened(name, launch.hosts, nodes, accelerators, found))
        self.closing.callback(found.close)  # type: ignore[attr-defined]
        return found

    def name_of(self, launch: Launch, *, nodes: int) -> str:
        """The name of the requested launcher, or else of one that fits. Raises UsageError if
        several nodes are requested and no cluster is detected.
        """
        if launch.launcher is not None:
            return launch.launcher
        if launch.hosts:
            return self.with_hosts()[0]
        if nodes == 1:
            return LOCAL
        for name, launcher in self.plugins.launchers.unique().items():
            if (detect := getattr(launcher, "detect", None)) and detect():
                return name
        raise UsageError(
            f"{nodes} nodes requested, but no cluster was detected: start mbench within a "
            "Slurm job (salloc, sbatch), give --hosts a,b or --hosts @FILE for MPI, set "
            "RAY_ADDRESS, or use only this machine with 1 node, as in --scale 1x2",
            option="--scale",
        )

    def with_hosts(self) -> list[str]:
        """The launchers that take --hosts."""
        known = self.plugins.launchers.unique().items()
        return [name for name, launcher in known if getattr(launcher, "takes_hosts", False)]
