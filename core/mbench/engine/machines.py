"""The machines on which a launcher starts processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.machine.cores import hardware_threads
from mbench.machine.devices import DeviceGroup, kinds
from mbench.machine.memory_layout import limitation
from mbench.machine.records import DeviceSeen, Machine
from mbench.machine.system import describe_system

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.plugins.launcher import Launcher

__all__ = ["describe_machine", "machines"]


def machines(launcher: Launcher) -> Mapping[str, Machine]:
    """The machines by host, "" for this one; raises MbenchError if one cannot be reached.

    A launcher without `machines` starts processes here.
    """
    asked = getattr(launcher, "machines", None)
    return {"": describe_machine()} if asked is None else asked()


def describe_machine() -> Machine:
    """This machine, as a process on it sees it."""
    devices = []
    for name, kind in kinds().items():
        if seen := kind.seen():
            found = DeviceGroup(seen)
            known = [memory for one in seen if (memory := one.memory()) is not None]
            devices.append(
                DeviceSeen(
                    kind=name, mode=found.mode, for_one=found.for_one,
                    free_bytes=[free for free, _ in known],
                    total_bytes=[total for _, total in known],
                )
            )  # fmt: skip
    return Machine(
        system=describe_system({}),
        threads=hardware_threads(),
        devices=devices,
        unsteady=limitation(),
    )
