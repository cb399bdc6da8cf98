"""What can be told of an order before anything is downloaded, proven or measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.axes import STEADY
from mbench.contract.device import HOST
from mbench.devices import accelerator, kind
from mbench.engine.steady import lack
from mbench.errors import UsageError
from mbench.telemetry.system import hardware_threads

if TYPE_CHECKING:
    from mbench.plan.order import Order

__all__ = ["check", "check_device"]


def check(order: Order) -> list[str]:
    """What may be regretted, a line each; raises UsageError for what cannot be."""
    check_device(order.device)
    check_steadiness(order)
    most = max(len(comparison.entries) for comparison in order.comparisons)
    check_room(order.device, most, side_by_side=order.protocol.side_by_side)
    return [*filter(None, (order.protocol.doubt(most), crowd(order)))]


def check_device(device: str) -> None:
    """Raises UsageError where this machine does not have it."""
    if device != HOST and accelerator(device) is None:
        asked = kind(device)
        raise UsageError(
            f"--device {device}: no {asked.title} is to be seen on this machine; {asked.mend}, or "
            f"give --device {HOST}",
            option="--device",
        )


def check_room(device: str, workers: int, *, side_by_side: bool) -> None:
    """Raises UsageError where the device lets in fewer workers than are to live side by side."""
    found = accelerator(device)
    if found is not None and found.for_one and side_by_side and workers > 1:
        raise UsageError(
            f"--device {device}: its compute mode is {found.mode}, and {workers} frameworks are to "
            f"stand side by side; {kind(device).sharing} lets them",
            option="--device",
        )


def check_steadiness(order: Order) -> None:
    """Raises UsageError where workers are to be steady and this machine does not allow it."""
    entries = [entry for comparison in order.comparisons for entry in comparison.entries]
    if any(entry.case.steadiness == STEADY for entry in entries) and (reason := lack()):
        raise UsageError(f"--steady: {reason}", option="--steady")


def crowd(order: Order) -> str:
    """More threads than can run at once; empty where there are not."""
    cases = [entry.case for comparison in order.comparisons for entry in comparison.entries]
    threads = max(case.threads * case.places.devices_per_node for case in cases)
    there = hardware_threads()
    if threads <= there:
        return ""
    return (
        f"{threads} threads on a machine that runs {there} at once wait for each other; "
        f"give --threads {there} or fewer"
    )
