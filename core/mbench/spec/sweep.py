"""The axes of a sweep and their values, which multiply into comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mbench.contract.axes import AXES, Axis
from mbench.errors import UsageError
from mbench.plugins.manager import nearest

__all__ = ["Sweep", "Value"]

Value = str | int | bool


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """What is measured. Raises UsageError for an axis that does not exist, or has no values."""

    axes: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    """The values of each axis that is asked for, by its name. Models are names, patterns, families
    or `zoo`; a batch size may be `max`, a compiler `default` or `best`, a tier `all`."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Sizes that replace those of the models that have them."""
    operators: bool = False
    """Whether the operators of the models are measured, each once, instead of the models."""
    amp: bool | None = None
    """Whether the precision is the mixed one that the frameworks have on the device; None: it is
    that of `axes`."""

    def __post_init__(self) -> None:
        known = {axis.name for axis in AXES if axis.many}
        for name, values in self.axes.items():
            if name not in known:
                raise UsageError(f"unknown axis {name!r}{nearest(name, known)}")
            if not values:
                raise UsageError(f"the axis {name} has no values", option=f"--{name}")

    def values(self, axis: Axis) -> tuple[Value, ...]:
        """Those that are asked for, else the usual one; none where that is each model's own."""
        usual = axis.usual if axis.first is None else axis.first
        return self.axes.get(axis.name) or (() if usual is None else (usual,))
