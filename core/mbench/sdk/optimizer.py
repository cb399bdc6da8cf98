"""What update rules share: which tensors weight decay applies to, how gradients are clipped, and
how an optimizer is reset.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from mbench.contract.adapter import Unsupported
from mbench.sdk import tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np

    from mbench.contract.precision import Precision
    from mbench.contract.tensors import Tensor, Tensors
    from mbench.contract.workload import Workload

    T = TypeVar("T")

__all__ = ["UpdateBase", "clip_factor", "decays", "find_rule", "groups"]

CLIP_EPSILON = 1e-6
"""The 1e-6 of the documented clipping, see mbench.contract.workload.Optimizer."""


class UpdateBase:
    """The update of a model's parameters after the loss or its gradients; adapters subclass it.

    `parameters` are the framework's own trainable tensors by canonical name, `settings` those of
    the tier.
    """

    def __init__(
        self,
        workload: Workload,
        parameters: Tensors,
        precision: Precision,
        compiler: Any,
        settings: Mapping[str, str] = MappingProxyType({}),
        *,
        to_numpy: Callable[[Tensor], np.ndarray] = tensors.to_numpy,
        assign: Callable[[Tensor, np.ndarray], None] = tensors.assign,
    ) -> None:
        """`to_numpy` and `assign` are those of the Prepared that creates it."""
        self.workload = workload
        self.settings = settings
        self.spec = workload.optimizer
        self.parameters = parameters
        self.precision = precision
        self.compiler = compiler
        self.to_numpy, self.assign = to_numpy, assign
        self.differences: list[str] = []
        self._first: list[tuple[Tensor, np.ndarray]] | None = None
        self.build()
        self.reset()

    def loss_scale(self) -> float:
        """The current factor on losses; it is halved when a step is skipped."""
        return 1.0

    def set_learning_rate(self, rate: float) -> None:
        """Use this rate for later updates. The core sets it before each step, by its own schedule.
        Compiled code must read it rather than contain it as a constant. An adapter without this
        method cannot train tasks.
        """
        raise Unsupported("the adapter cannot change the learning rate between steps")

    def build(self) -> None:
        """Create the framework's optimizer; raises ValueError for a rule that it does not have."""
        raise NotImplementedError(f"{type(self).__name__} must make its optimizer")

    def reset(self) -> None:
        """Forget moments, step counts and gradients.

        A loss scale is kept: overflows in the first steps determine it, and are not part of what
        is timed or proven. By default, every tensor of `kept` is set to the value it had after
        `build`, in place, so that compiled code keeps its tensors.
        """
        if self._first is None:
            self._first = [(tensor, self.to_numpy(tensor)) for tensor in self.kept()]
        for tensor, first in self._first:
            self.assign(tensor, first)

    def kept(self) -> Sequence[Tensor]:
        """The framework's own tensors that an update changes besides parameters: moments, step
        counts. Only the default `reset` uses them.
        """
        raise NotImplementedError(f"{type(self).__name__} must go back to its start")


def find_rule(workload: Workload, rules: Mapping[str, T]) -> T:
    """The entry of `rules` for the workload's rule; raises ValueError if there is none."""
    name = workload.optimizer.rule
    if name not in rules:
        raise ValueError(f"there is no optimizer {name!r}; available: {', '.join(rules)}")
    return rules[name]


def decays(workload: Workload, names: Iterable[str]) -> dict[str, float]:
    """The weight decay of each tensor: 0 for those that are exempt."""
    spared = spared_by(workload)
    decay = workload.optimizer.weight_decay
    return {name: 0.0 if name in spared else decay for name in names}


def groups(workload: Workload, parameters: Mapping[str, T]) -> list[tuple[float, list[T]]]:
    """Weight decays with the parameters they apply to: those that decay, then the exempt ones."""
    spared = spared_by(workload)
    decaying = [value for name, value in parameters.items() if name not in spared]
    others = [value for name, value in parameters.items() if name in spared]
    found = [(workload.optimizer.weight_decay, decaying), (0.0, others)]
    return [(decay, members) for decay, members in found if members]


def spared_by(workload: Workload) -> set[str]:
    """The tensors that do not decay."""
    rule = workload.optimizer
    return {
        tensor.name
        for tensor in workload.tensors()
        if not tensor.decay
        or (len(tensor.shape) < 2 and not rule.decays_vectors)
        or any(part in tensor.name for part in rule.spared)
    }


def clip_factor(clip_norm: float, norm: Tensor) -> Tensor:
    """The factor on gradients of this norm, if it is less than 1."""
    return clip_norm / (norm + CLIP_EPSILON)
