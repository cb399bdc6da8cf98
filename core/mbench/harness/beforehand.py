"""What can be told of an order before anything is downloaded, proven or measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.axes import STEADY
from mbench.engine.steady import lack
from mbench.errors import UsageError
from mbench.telemetry.nvml import find_gpu
from mbench.telemetry.system import find_device, hardware_threads

if TYPE_CHECKING:
    from mbench.plan.order import Order

__all__ = ["check", "check_device"]


def check(order: Order) -> list[str]:
    """What may be regretted, a line each; raises UsageError for what cannot be."""
    check_device(order.device)
    check_steadiness(order)
    most = max(len(comparison.entries) for comparison in order.comparisons)
    if order.device == "cuda":
        check_room(most, side_by_side=order.protocol.side_by_side)
    return [*filter(None, (order.protocol.doubt(most), crowd(order)))]


def check_device(device: str) -> None:
    """Raises UsageError where this machine does not have it."""
    if device == "cuda" and find_device() != "cuda":
        raise UsageError(
            "--device cuda: no NVIDIA GPU is to be seen on this machine; load its driver, see "
            "what CUDA_VISIBLE_DEVICES names, or give --device cpu",
            option="--device",
        )


def check_room(workers: int, *, side_by_side: bool) -> None:
    """Raises UsageError where the GPU lets in fewer workers than are to live side by side."""
    gpu = find_gpu()
    if gpu is not None and gpu.for_one and side_by_side and workers > 1:
        raise UsageError(
            f"--device cuda: the GPU's compute mode is {gpu.mode}, and {workers} frameworks are to "
            "stand side by side; sudo nvidia-smi -c 0 lets them",
            option="--device",
        )


def check_steadiness(order: Order) -> None:
    """Raises UsageError where workers are to be steady and this machine does not allow it."""
    entries = [entry for comparison in order.comparisons for entry in comparison.entries]
    if any(entry.case.steadiness == STEADY for entry in entries) and (reason := lack()):
        raise UsageError(f"--steady: {reason}", option="--steady")


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
