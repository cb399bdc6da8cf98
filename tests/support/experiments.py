"""Experiments in a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.spec.arm import Arm
from mbench.spec.experiment import Experiment, Launch, Sweep, Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.spec.protocol import Protocol

__all__ = ["asked", "measured_by"]


def asked(
    *,
    frameworks: Sequence[str],
    wanted: Mapping[str, Sequence[Value]] | None = None,
    sizes: Mapping[str, int] | None = None,
    operators: bool = False,
    device: str = "cpu",
    threads: int = 1,
) -> Experiment:
    """An experiment of one sweep over the `wanted` values of each axis, on a given device."""
    axes = {name: tuple(values) for name, values in (wanted or {}).items() if values}
    return Experiment(
        arms=tuple(map(Arm, frameworks)),
        sweeps=(Sweep(axes=axes, sizes=sizes or {}, operators=operators),),
        launch=Launch(device=device, threads=threads),
    )


def measured_by(protocol: Protocol) -> Experiment:
    """An experiment of one framework, measured by a protocol."""
    return Experiment(arms=(Arm("tiny"),), protocol=protocol)
