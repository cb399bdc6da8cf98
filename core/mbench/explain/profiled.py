"""Turns the calls of a profiler's trace into kernels, as libraries report them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.engine.outcome import CaseEnded
from mbench.explain.verbose import Kernel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.contract.trace import Traced

__all__ = ["kernels_of", "platform_of"]


def platform_of(device: str, details: Mapping[str, str]) -> dict[str, str]:
    """The device's kind with the version of its platform, as the framework reports it."""
    return {device.upper(): details.get(device, "")}


def kernels_of(traced: Traced, device: str) -> list[Kernel]:
    """In the order of first calls; raises CaseEnded where the trace has no call on the device."""
    if not traced.calls:
        raise CaseEnded(
            "unsupported",
            f"its profiler recorded {traced.other_events} events and no call on the {device} "
            "device: it does not support that, or lacks permission (see its log)",
        )
    return [
        Kernel(
            library=device.upper(), primitive=call.kind, implementation=call.name, propagation="",
            algorithm="", layouts=(), shape=call.launch, count=call.count,
            milliseconds=call.milliseconds, moved_bytes=call.moved_bytes,
        )
        for call in traced.calls
    ]  # fmt: skip
