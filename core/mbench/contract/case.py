"""What is measured, as one complete case; and how its proof changes the work."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from mbench.contract.axes import Axes
from mbench.contract.rank import Scale, parse_scale
from mbench.contract.workload import Optimizer  # noqa: TC001 (read by annotations)

__all__ = ["UNCHANGED", "Case", "ProofWork"]


@dataclass(frozen=True, kw_only=True)
class Case(Axes):
    """One complete thing to measure: its axes, and what else a worker needs to prepare it.

    `workload` and `scenario` are "module:attribute" references to the model's neutral facts and to
    the meaning of the mode. A worker finds both without plugins: see `mbench.workloads.find` and
    `mbench.scenarios.find`. Without a scenario, the mode is one of mbench's own.
    """

    workload: str
    scenario: str = ""
    seed: int = 0

    @property
    def parsed_scale(self) -> Scale:
        """The scale, parsed. Raises ValueError if it is not valid."""
        return parse_scale(self.scale)

    @property
    def devices(self) -> int:
        return self.parsed_scale.devices

    @property
    def samples_per_step(self) -> int:
        """Samples per step on all devices together."""
        return self.batch_size * self.devices


@dataclass(frozen=True, kw_only=True)
class ProofWork:
    """How a proof changes the work of a case: known to proofs and messages, but to no adapter.

    A worker always gets an optimizer, so that it cannot tell a proof from what is timed.
    """

    optimizer: Optimizer | None = None
    """Replaces the model's own; None: the model's own."""
    layers: int | None = None
    """Number of layers, for a model that would not fit whole; None: all of them."""
    parts: int = 0
    """Every rank has the first batches of this many ranks, by rank, and no others; 0: its own."""

    def plain(self, rate: float) -> ProofWork:
        """This work with plain gradient descent at `rate` as the optimizer, clipping kept."""
        assert self.optimizer is not None
        return dataclasses.replace(self, optimizer=self.optimizer.plain_sgd(rate))


UNCHANGED = ProofWork()
