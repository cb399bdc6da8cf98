"""What can be told of an order before anything is downloaded, proven or measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.errors import UsageError
from mbench.telemetry.system import find_device, hardware_threads

if TYPE_CHECKING:
    from mbench.plan.order import Order

__all__ = ["check", "check_device"]


def check(order: Order) -> list[str]:
    """What may be regretted, a line each; raises UsageError for what cannot be."""
    check_device(order.device)
    most = max(len(comparison.entries) for comparison in order.comparisons)
    return [*filter(None, (order.protocol.doubt(most), crowd(order)))]


def check_device(device: str) -> None:
    """Raises UsageError where this machine does not have it."""
    if device == "cuda" and find_device() != "cuda":
        raise UsageError(
            "--device cuda: no NVIDIA driver is loaded on this machine; load it, or give "
            "--device cpu",
            option="--device",
        )


def crowd(order: Order) -> str:
    """More threads than can run at once; empty where there are not."""
    threads = max(e.case.threads for c in order.comparisons for e in c.entries)
    there = hardware_threads()
    if threads <= there:
        return ""
    return (
        f"{threads} threads on a machine that runs {there} at once wait for each other; "
        f"give --threads {there} or fewer"
    )
