"""Turns what a framework's profiler tells of a step on a device into kernels like a library's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.engine.outcome import CaseEnded
from mbench.explain.verbose import Kernel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.contract.trace import Traced

__all__ = ["kernels_of", "library_of"]


def library_of(device: str, details: Mapping[str, str]) -> dict[str, str]:
    """In place of a library's name and version, those of the device's kind: as the framework
    names the one that it was built for, under the device's name, if it does.
    """
    return {device.upper(): details.get(device, "")}


def kernels_of(traced: Traced, device: str) -> list[Kernel]:
    """In the order of first calls; raises CaseEnded where the trace has no call of the device."""
    if not traced.calls:
        raise CaseEnded(
            "unsupported",
            f"its profiler told of {traced.other_events} events, and of no call of the {device} "
            "device: it cannot, or it was not let (see its log)",
        )
    return [
        Kernel(
            library=device.upper(), primitive=call.kind, implementation=call.name, propagation="",
            algorithm="", layouts=(), shape=call.launch, count=call.count,
            milliseconds=call.milliseconds, moved_bytes=call.moved_bytes,
        )
        for call in traced.calls
    ]  # fmt: skip
