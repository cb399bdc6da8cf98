"""What can be told of an order before anything is downloaded, proven or measured."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from mbench.contract.axes import STEADY
from mbench.contract.device import HOST
from mbench.engine.machines import machines
from mbench.errors import UsageError
from mbench.machine.devices import kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.machine.records import Machine
    from mbench.spec.order import Order

__all__ = ["check", "check_device"]


def check(order: Order) -> list[str]:
    """What may be regretted, a line each; raises UsageError for what cannot be.

    What machines have is asked of those on which workers are to run.
    """
    there = machines(order.launcher)
    check_device(order.device, there)
    check_steadiness(order, there)
    most = max(len(comparison.entries) for comparison in order.comparisons)
    check_room(order.device, most, there, side_by_side=order.protocol.side_by_side)
    return [*filter(None, (order.protocol.doubt(most), crowd(order, there)))]


def check_device(device: str, there: Mapping[str, Machine]) -> None:
    """Raises UsageError where a machine does not have it."""
    for host, machine in there.items():
        if device != HOST and machine.device(device) is None:
            asked = kind(device)
            raise UsageError(
                f"--device {device}: no {asked.title} is to be seen on {host or 'this machine'}; "
                f"{asked.hint}, or give --device {HOST}",
                option="--device",
            )


def check_room(
    device: str, workers: int, there: Mapping[str, Machine], *, side_by_side: bool
) -> None:
    """Raises UsageError where the device lets in fewer workers than are to live side by side."""
    for host, machine in there.items():
        found = machine.device(device)
        if found is not None and found.for_one and side_by_side and workers > 1:
            on = f" on {host}" if host else ""
            raise UsageError(
                f"--device {device}: its compute mode{on} is {found.mode}, and {workers} "
                f"frameworks are to stand side by side; {kind(device).sharing} lets them",
                option="--device",
            )


def check_steadiness(order: Order, there: Mapping[str, Machine]) -> None:
    """Raises UsageError where workers are to be steady and a machine does not allow it."""
    entries = [entry for comparison in order.comparisons for entry in comparison.entries]
    if not any(entry.case.steadiness == STEADY for entry in entries):
        return
    for host, machine in there.items():
        if machine.unsteady:
            on = f"{host}: " if host else ""
            raise UsageError(f"--steady: {on}{machine.unsteady}", option="--steady")


def crowd(order: Order, there: Mapping[str, Machine]) -> str:
    """More threads than can run at once; empty where there are not."""
    cases = [entry.case for comparison in order.comparisons for entry in comparison.entries]
    each, devices = max(
        ((case.threads, case.places.devices_per_node) for case in cases), key=lambda two: prod(two)
    )
    host, most = min(((host, one.threads) for host, one in there.items()), key=lambda two: two[1])
    if each * devices <= most:
        return ""
    fit = max(1, most // devices)
    return (
        f"{each * devices} threads on {host or 'a machine'} that runs {most} at once wait for each "
        f"other; give --threads {fit}" + " or fewer" * (fit > 1)
    )
