"""What is kept of what timed processes show of their work, and how far it may lie apart."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any

from mbench.contract.quantities import Bytes, Nanoseconds, Number, Real, Share, Steps
from mbench.contract.reading import Quantity

__all__ = ["Changes", "Earlier", "Evidence", "Gates", "Rounding", "Sketch"]

Sketch = tuple[Real, Real, Real, Real, Real, Real]
"""Of a tensor: its norm and five signed sums, see contract/sketch.py."""

ROUNDINGS = 4.0
"""Times as far as parameters that begin a unit in the last place apart carry the first steps, which
honest frameworks may lie apart. Seen of ShuffleNet in four: 0.5 to 2 times as far."""
OUTPUTS = 1.0
"""Likewise of the outputs of a batch, which no step carries farther. Seen in bf16 of a BERT of two
layers and of ResNet-18, in three frameworks and on older processors: 0.75 times as far. Weights and
inputs of 8 bits, by one scale for each tensor, make 1.4 in ResNet-18, float8 5."""
HIDES = 16.0
"""Times as far, within which it may be rounding and nothing else that lies apart."""
BOUNDS = {"norm": 0.5, "tensor": 0.5, "statistics": 0.5}
"""To which that may widen gates: beyond, half of a step's work might be missing."""
GROWTH = 0.4
"""Likewise of growth: where every second step is missing, it is off by half."""
DIRECTION, DIRECTIONS = 0.8, 2.0
"""Beyond so much, rounding leaves no direction: what is not related is off by 1.4. And the times as
far that directions may lie apart: of ResNet-18 in amp-bf16 rounding makes 0.25, and honest
frameworks lie 0.24 apart."""


@dataclass(frozen=True, kw_only=True)
class Gates:
    """How far what two timed processes leave may lie apart, relative to it."""

    answers: Share
    """Of losses or outputs on the same batch."""
    widest: Share | None = None
    """To which measured rounding may widen that; None where rounding is not measured."""
    means: Share | None
    """Of mean losses, beside the scatter that masks make; None where none are drawn."""
    drift: Share
    """Share of the loss's drift so far by which losses may differ besides."""
    norm: Share | None
    """Of the norm of all changes after the same steps; None where updates do not show."""
    tensor: Share | None = None
    """Of the norm of each tensor's change that makes a share of all; None where single ones scatter
    or `direction` says more."""
    direction: Share | None
    """Of those changes themselves; None where frameworks draw masks of their own."""
    statistics: Share | None
    """Of the changes of running statistics; None as there."""
    growth: Share | None
    """Of the norm of all changes against what so many steps make of an earlier one."""

    def wider(self, other: Gates) -> Gates:
        """What holds for two cases, of which one may be the less precise."""
        found: dict[str, Any] = {}
        for one in fields(self):
            pair = getattr(self, one.name), getattr(other, one.name)
            found[one.name] = None if None in pair else max(pair)
        return Gates(**found)

    def loosened(self, by: Rounding) -> Gates:
        """Where rounding carries a case far: wide enough for that, as far as other work shows."""
        return self.widened(
            **{name: min(ROUNDINGS * getattr(by, name), bound) for name, bound in BOUNDS.items()},
            answers=min(self.rounded(by), self.widest or 0.0),
            growth=min(ROUNDINGS * by.norm, GROWTH),
            direction=by.left,
        )

    def rounded(self, by: Rounding) -> float:
        """How far rounding may carry answers apart."""
        return (OUTPUTS if self.norm is None else ROUNDINGS) * by.answers

    def hidden(self, by: Rounding) -> Gates:
        """Beyond which it cannot be rounding. Where it leaves no direction, two changes may differ
        in size by as much as they lie apart: if those of one process did not, it was luck.
        """
        size = HIDES * by.norm
        if by.left is None:
            size = max(size, by.direction)
        return self.widened(
            **{**{name: HIDES * getattr(by, name) for name in BOUNDS}, "norm": size},
            answers=self.rounded(by) if self.norm is None else HIDES * by.answers,
            direction=by.left,
            growth=size,
        )

    def widened(self, **limits: float | None) -> Gates:
        """To `limits` where those are wider, or where there is none."""
        found: dict[str, Any] = {}
        for name, limit in limits.items():
            gate = getattr(self, name)
            found[name] = None if None in (gate, limit) else max(gate, limit)
        return replace(self, **found)


@dataclass(frozen=True, kw_only=True)
class Rounding:
    """How far the first steps go apart from parameters that begin a unit in the last place apart,
    relative to them.
    """

    answers: Real
    """The loss of a step that is farthest apart; of outputs the root mean square of all batches."""
    norm: Real = 0.0
    """Of the norm of all changes."""
    tensor: Real = 0.0
    """Of the norm of each tensor's change that makes a share of all: the largest."""
    direction: Real = 0.0
    """Of those changes themselves."""
    statistics: Real = 0.0
    """Of the changes of running statistics."""

    @property
    def left(self) -> float | None:
        """By how much directions may lie apart; None where rounding leaves none."""
        return None if DIRECTIONS * self.direction > DIRECTION else DIRECTIONS * self.direction

    def lesser(self, other: Rounding) -> Rounding:
        """The smaller of each."""
        names = [one.name for one in fields(Rounding)]
        return Rounding(**{name: min(getattr(self, name), getattr(other, name)) for name in names})


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """What an earlier step of a block left, which was chosen after the block."""

    step: Steps
    """Steps since the parameters were loaded."""
    due: Annotated[float, Quantity("learning rates", least=0)]
    """How far constant gradients would have carried parameters by then, in learning rates."""
    batch: Number
    """Number of what was in its batch."""
    loss: Real | None
    """Its loss; None for inference."""
    outputs: dict[str, Sketch]
    """Sketches of its outputs, thinned; none for training."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What the last step of a block left, taken outside the clock."""

    step: Steps
    """Steps since the parameters were loaded."""
    due: Annotated[float, Quantity("learning rates", least=0)]
    """How far constant gradients would have carried parameters by then, in learning rates."""
    batch: Number
    """Number of the last step's batch, or of its contents where these were drawn for the block."""
    loss: Real | None
    """Its loss; None for inference."""
    outputs: dict[str, Sketch]
    """Sketches of its outputs, thinned; none for training."""
    waited: Nanoseconds
    """How long the block took by the parent's clock."""
    looked: Nanoseconds
    """How long the parent then waited for this."""
    look_cpu: Nanoseconds | None = None
    """Processor time that the worker took for it; None where the machine does not tell."""
    read_bytes: Bytes = 0
    """Size of the outputs that it read for it, by its own word."""
    skipped: Number = 0
    """Steps among them that made no update, as scaled gradients overflowed."""
    lead: Number = 0
    """Untimed steps of the block before those that were timed; `waited` holds them, too."""
    earlier: list[Earlier] = field(default_factory=list)
    """What some of its other steps left."""
    provided: int = 0
    """Nanoseconds of the worker's processor time to place the block's data, as far as batches of
    that size take,"""
    recalled: int = 0
    """and to read what earlier steps left, likewise."""


@dataclass(frozen=True, kw_only=True)
class Changes:
    """How far parameters have come from where they began."""

    step: Steps
    """Steps since the parameters were loaded."""
    due: Annotated[float, Quantity("learning rates", least=0)]
    """How far constant gradients would have carried parameters by then, in learning rates."""
    parameters: dict[str, Sketch]
    """A sketch of the change of each."""
    statistics: dict[str, Sketch] = field(default_factory=dict)
    """A sketch of the change of each running statistic."""
    skipped: Number = 0
    """Steps among them that made no update, as scaled gradients overflowed."""
    data: str = ""
    """Of what these steps were made on beside the batches in turn: only where it is equal may two
    processes be compared after the same number of steps."""
