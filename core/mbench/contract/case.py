"""What is measured: one case, complete."""

from __future__ import annotations

from dataclasses import dataclass

from mbench.contract.axes import Axes
from mbench.contract.scale import Scale, parse_scale

__all__ = ["Case"]


@dataclass(frozen=True, kw_only=True)
class Case(Axes):
    """One thing to measure, complete: its axes, and what else a worker needs to prepare it.

    `workload` and `scenario` are references, "module:attribute", to the model's neutral facts and
    to what the mode means, so that a worker finds both without plugins: see
    `mbench.workloads.find` and `mbench.scenarios.find`. Without a scenario, the mode is one of
    mbench's own.
    """

    workload: str
    scenario: str = ""
    seed: int = 0

    @property
    def places(self) -> Scale:
        """Raises ValueError where the scale is none."""
        return parse_scale(self.scale)

    @property
    def devices(self) -> int:
        return self.places.devices

    @property
    def samples_per_step(self) -> int:
        """Of all devices together."""
        return self.batch_size * self.devices
