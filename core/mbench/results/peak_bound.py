"""What a machine can do at most, whatever a framework says of its own matrix products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.device import HOST
from mbench.contract.precision import PRECISIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.machine.records import System

__all__ = ["most_flops", "unlike_others"]

FASTEST_HZ = 6.2e9
"""No processor is sold with a higher clock; what the kernel says of it may be without its boost."""
WIDTHS = (("SVE", 64), ("AVX-512", 64), ("NEON", 32), ("AVX2", 32))
"""FLOP per cycle and core in single precision, by the widest instruction set: two units for fused
multiply-adds of 512 or 256 bits, four of 128 bits."""
HALF = (("AMX", 1024), ("SVE", 256), ("NEON", 256), ("AVX-512", 128), ("AVX2", 64))
"""Likewise in half precision: tiles; products of pairs; and what is converted."""
TIMES_OTHERS = 3.0
"""Products of other frameworks may be so many times as slow. Seen of libraries on one processor in
single precision: 1.6."""
FAIR = 0.2
"""Share of what the machine can do from which on the products of others say something: a framework
without a fast library must not make that of another look forged."""
BEYOND_SHEET = 1.1
"""Boost clocks may be somewhat above those of a data sheet."""


def most_flops(
    system: System, *, precision: str, device: str, threads: int, sheet: float | None
) -> float | None:
    """FLOPs per second that `threads` cores of a processor, or a device with that data sheet, can
    do at most; None where neither is known.
    """
    if device != HOST:
        return None if sheet is None else BEYOND_SHEET * sheet
    kind, sets = PRECISIONS[precision], set(system.cpu.split(", "))
    widths = HALF if kind.half else WIDTHS
    width = next((width for name, width in widths if name in sets), None)
    if width is None:
        return None
    return threads * FASTEST_HZ * (width / 2 if precision == "fp64" else width)


def unlike_others(
    rate: float, others: Mapping[str, float], *, most: float | None, half: bool
) -> bool:
    """Whether a product is far above those of other frameworks. Where it is not known what the
    machine can do, those in half precision say nothing: some frameworks have no fast ones.
    """
    fair = [one for one in others.values()
            if (not half if most is None else FAIR * most <= one <= most)]  # fmt: skip
    return bool(fair) and rate > TIMES_OTHERS * max(fair)
