"""What is kept as evidence of timed processes' work, and how much it may differ."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any

from mbench.contract.quantities import Bytes, Nanoseconds, Number, Real, Share, Steps
from mbench.contract.reading import Quantity

__all__ = ["Changes", "Earlier", "Evidence", "Gates", "Rounding", "Sketch"]

Sketch = tuple[Real, Real, Real, Real, Real, Real]
"""A tensor's norm and five signed sums, see contract/sketch.py."""

ROUNDINGS = 4.0
"""How far apart honest frameworks may lie, as a multiple of how far apart the first steps end up if
parameters begin a unit in the last place apart. Seen for ShuffleNet in four frameworks: 0.5 to
2."""
OUTPUTS = 1.0
"""The same for the outputs of a batch, which no step carries farther. Seen in bf16 for a BERT of
two layers and for ResNet-18, in three frameworks and on older processors: 0.75. Weights and inputs
of 8 bits, with one scale per tensor, make 1.4 in ResNet-18, and float8 makes 5."""
HIDES = 16.0
"""The multiple within which a difference may be nothing but rounding."""
BOUNDS = {"norm": 0.5, "tensor": 0.5, "statistics": 0.5}
"""The most to which rounding may widen these gates: beyond that, half of a step's work might be
missing."""
GROWTH = 0.4
"""The same for growth: if every second step is missing, it is off by half."""
DIRECTION, DIRECTIONS = 0.8, 2.0
"""Beyond the first, rounding leaves no direction: unrelated changes are off by 1.4. The second is
how many times as far directions may lie apart: for ResNet-18 in amp-bf16, rounding makes 0.25, and
honest frameworks lie 0.24 apart."""
REPEATED = 0.25
"""The exponent with which rounding to the precision of parameters grows beyond a random walk, since
later steps repeat it. Seen for GPT-2: 0.0043 of all changes after 4 steps, 0.0061 after 16, 0.0086
after 64; for an LSTM 0.007 after 16 and 0.013 after 256."""
CARRIED = ("norm", "tensor", "direction")
SIZE = 0.05
"""The least that rounding carries the norm of all changes, as a share of how far it carries the
changes themselves: two may happen to be equally long. Seen for ShuffleNet in fp32: 0.003 to 0.1."""


@dataclass(frozen=True, kw_only=True)
class Gates:
    """How much the results of two timed processes may differ, in relative terms."""

    answers: Share
    """For losses or outputs on the same batch."""
    widest: Share | None = None
    """The most to which measured rounding may widen `answers`; None if rounding is not measured."""
    means: Share | None
    """For mean losses, in addition to the scatter that masks cause; None if no masks are drawn."""
    drift: Share
    """How much farther losses may differ, as a share of the loss's drift so far."""
    norm: Share | None
    """For the norm of all changes after the same steps; None if updates do not show."""
    tensor: Share | None = None
    """For the norm of the change of each tensor that makes up enough of all changes; None if single
    tensors scatter or `direction` says more."""
    direction: Share | None
    """For those changes themselves; None if frameworks draw masks of their own."""
    statistics: Share | None
    """For the changes of running statistics; None as for `direction`."""
    growth: Share | None
    """For how the norm of all changes grows from the first steps to later ones."""

    def wider(self, other: Gates) -> Gates:
        """Each gate is the wider of two cases' gates, or None if either is None."""
        found: dict[str, Any] = {}
        for one in fields(self):
            pair = getattr(self, one.name), getattr(other, one.name)
            found[one.name] = None if None in pair else max(pair)
        return Gates(**found)

    def loosened(self, by: Rounding) -> Gates:
        """Gates wide enough for how far rounding carries a case, as long as different work still
        shows.
        """
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
        """Gates beyond which a difference cannot be rounding. If rounding leaves no direction, two
        changes may differ in size by as much as they lie apart, even if those of one process happen
        to have the same size.
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
        """These gates, widened to `limits` that are wider; None if a gate or its limit is None."""
        found: dict[str, Any] = {}
        for name, limit in limits.items():
            gate = getattr(self, name)
            found[name] = None if None in (gate, limit) else max(gate, limit)
        return replace(self, **found)


@dataclass(frozen=True, kw_only=True)
class Rounding:
    """How far apart steps end up, in relative terms, if parameters begin a unit in the last place
    apart.
    """

    answers: Real
    """For losses, that of the step that is farthest apart; for outputs, the root mean square of all
    batches."""
    norm: Real = 0.0
    """For the norm of all changes."""
    tensor: Real = 0.0
    """For the norm of the change of each tensor that makes up enough of all changes: the
    largest."""
    direction: Real = 0.0
    """For those changes themselves."""
    statistics: Real = 0.0
    """For the changes of running statistics."""
    grid: Real = 0.0
    """How far apart two frameworks may end up because each rounds updates to the precision of the
    parameters, which are far larger."""
    step: Steps = 16
    """The number of steps."""

    @property
    def left(self) -> float | None:
        """How much directions may differ; None if rounding leaves no direction."""
        far = max(DIRECTIONS * self.direction, self.grid)
        return None if far > DIRECTION else far

    def lesser(self, other: Rounding) -> Rounding:
        """The smaller of each value."""
        names = [one.name for one in fields(Rounding)]
        return Rounding(**{name: min(getattr(self, name), getattr(other, name)) for name in names})

    def times(self, factor: float) -> Rounding:
        """As if a nudge had carried everything so many times as far."""
        names = ("answers", *CARRIED, "statistics")
        return replace(self, **{name: factor * getattr(self, name) for name in names})

    def later(self, step: int) -> Rounding:
        """After more steps, in proportion to their number: rounding carries parameters apart, and
        these the changes of later steps.
        """
        far = {name: step / self.step * getattr(self, name) for name in CARRIED}
        grid = (step / self.step) ** REPEATED * self.grid
        return replace(self, **far, grid=grid, step=step)


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """What an earlier step of a block left; the step was chosen after the block."""

    step: Steps
    """Steps since the parameters were loaded."""
    due: Annotated[float, Quantity("learning rates", least=0)]
    """How far constant gradients would have carried parameters by then, in learning rates."""
    batch: Number
    """Number of its batch's contents."""
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
    """Number of the last step's batch, or of its contents if these were drawn for the block."""
    loss: Real | None
    """Its loss; None for inference."""
    outputs: dict[str, Sketch]
    """Sketches of its outputs, thinned; none for training."""
    waited: Nanoseconds
    """How long the block took by the parent's clock."""
    looked: Nanoseconds
    """How long the parent then waited for this evidence."""
    look_cpu: Nanoseconds | None = None
    """Processor time that the worker needed for this evidence; None if the machine does not report
    it."""
    read_bytes: Bytes = 0
    """Size of the outputs that the worker reports to have read for this evidence."""
    skipped: Number = 0
    """Number of these steps that made no update because scaled gradients overflowed."""
    lead: Number = 0
    """Lead-in steps of the block, which are untimed; `waited` includes them."""
    earlier: list[Earlier] = field(default_factory=list)
    """What some of its other steps left."""
    provided: int = 0
    """The worker's processor time, in nanoseconds, to place the block's data, limited to what
    batches of that size take."""
    recalled: int = 0
    """The worker's processor time, in nanoseconds, to read what earlier steps left, limited in the
    same way."""


@dataclass(frozen=True, kw_only=True)
class Changes:
    """How far parameters have come from where they began."""

    step: Steps
    """Steps since the parameters were loaded."""
    due: Annotated[float, Quantity("learning rates", least=0)]
    """How far constant gradients would have carried parameters by then, in learning rates."""
    parameters: dict[str, Sketch]
    """A sketch of each parameter's change."""
    statistics: dict[str, Sketch] = field(default_factory=dict)
    """A sketch of the change of each running statistic."""
    skipped: Number = 0
    """Number of these steps that made no update because scaled gradients overflowed."""
    data: str = ""
    """Names the data of these steps other than the batches in turn. Two processes may be compared
    after the same number of steps only if this is equal."""
