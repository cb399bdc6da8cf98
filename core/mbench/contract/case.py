"""What is measured: one case, and the words that describe it."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.contract.axes import Axes
from mbench.contract.scale import Scale, parse_scale
from mbench.workloads.given import GIVEN
from mbench.workloads.workload import NO_UPDATE, Optimizer

if TYPE_CHECKING:
    from mbench.workloads.workload import Workload

__all__ = ["LONGER", "OPERATORS", "Case", "find_workload"]

OPERATORS = "mbench.workloads.operators:OPERATORS"
"""Where operators are made of their names; they are too many to be listed."""
LONGER = "+"
"""Between a model's name and that of its stage that is twice as long: "resnet50+layer3"."""


def find_workload(reference: str, model: str) -> Workload:
    """What "module:attribute" names: a workload, or a mapping that holds `model`'s. A form of it in
    which a stage is longer is found through the model itself.
    """
    module, _, attribute = reference.partition(":")
    found = getattr(importlib.import_module(module), attribute)
    name, _, stage = model.partition(LONGER)
    workload: Workload = found[name] if isinstance(found, Mapping) else found
    return workload.lengthened()[stage] if stage else workload


@dataclass(frozen=True, kw_only=True)
class Case(Axes):
    """One thing to measure, complete: its axes, and what else a worker needs to prepare it.

    `workload` names the model's neutral facts as "module:attribute", so that a worker finds
    them without plugins (see `find_workload`). The `phase` FORWARD puts out the loss, BACKWARD the
    gradients by all parameters besides, unclipped, and nothing is updated. The rest is for proofs:
    `plain_sgd` is the rate of bare gradient descent in the optimizer's place;
    `learning_rate` is one whose updates can be seen; `layers` makes a model less deep that would
    not fit; `given` puts one in its place whose gradients are given. With `parts`, every rank
    has the first batches of so many ranks, by rank, and no others; 0: it has its own.
    """

    workload: str
    seed: int = 0
    plain_sgd: float | None = None
    learning_rate: float | None = None
    layers: int | None = None
    given: bool = False
    parts: int = 0

    def of_operator(self, name: str, *, calls: int = 1) -> Case:
        """The same for an operator in the model's place, so often in a step."""
        return dataclasses.replace(
            self, model=name, workload=OPERATORS, batch_size=calls, sizes={}, clip=True, phase=""
        )

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

    def resolve(self) -> Workload:
        """The workload with this case's sizes and switches applied.

        Raises ValueError where the workload cannot take them (an image size for a text model).
        """
        workload = find_workload(self.workload, self.model).resized(**self.sizes)
        optimizer = workload.optimizer
        if self.learning_rate is not None:
            optimizer = dataclasses.replace(optimizer, learning_rate=self.learning_rate)
        if self.plain_sgd is not None:
            optimizer = optimizer.plain_sgd(self.plain_sgd)
        if not self.clip:
            optimizer = dataclasses.replace(optimizer, clip_norm=None)
        if self.phase:
            optimizer = Optimizer(rule=NO_UPDATE, learning_rate=0.0)
        if self.given:
            return dataclasses.replace(GIVEN, optimizer=optimizer)
        config = workload.config if self.dropout else workload.config.without_dropout()
        if self.layers is not None:
            config = dataclasses.replace(config, layers=self.layers)  # type: ignore[type-var]
        made = dataclasses.replace(workload, optimizer=optimizer, config=config)
        return made.suited(batch_size=self.batch_size, mode=self.mode).among(self.devices)

    @property
    def updates(self) -> bool:
        """Whether its steps change parameters, by which they are judged; others by what they put
        out.
        """
        return self.mode == "train" and self.resolve().updates

    @property
    def exchanges(self) -> bool:
        """Whether its processes wait for each other in each step."""
        return self.devices > 1 and (self.mode == "train" or self.resolve().exchanges)
