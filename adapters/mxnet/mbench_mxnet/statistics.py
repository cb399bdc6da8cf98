"""Batch norm's running statistics, which are read as PyTorch would have them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from mbench_mxnet.parameters import Tensor, named, to_numpy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mxnet import gluon, nd

    from mbench.sdk.tensors import Native
    from mbench_mxnet.layers import BatchNorm

__all__ = ["ExactStatistics", "Statistics"]


@dataclass(frozen=True, eq=False)
class Statistic(Tensor):
    """One of `kept`."""

    kept: Statistics = field(kw_only=True)

    def fetch(self) -> np.ndarray:
        return self.kept.canonical(self.tensor, super().fetch())


class Statistics:
    """Of a variance, MXNet averages what lacks the factor n / (n - 1).

    After k steps from `start` it is momentum**k * start and a rest that lacks this factor.
    """

    says = "running variances are kept biased, and unbiased where they are read"

    def __init__(self, norms: Mapping[BatchNorm, int]) -> None:
        """`norms` have each its n, the number of values behind a statistic."""
        self._rules: dict[gluon.Parameter, tuple[float, float]] = {}
        for norm, count in norms.items():
            self._rules[norm.running_mean] = norm.momentum, 1.0
            self._rules[norm.running_var] = norm.momentum, count / max(count - 1, 1)
        self.differences = [self.says] if self._rules else []
        self.begin()

    def natives(self, model: gluon.HybridBlock) -> dict[str, Native]:
        """All tensors of `model`, these among them."""
        return {
            name: Statistic(tensor.tensor, trainable=False, kept=self)
            if tensor.tensor in self._rules
            else tensor
            for name, tensor in named(model).items()
        }

    def begin(self) -> None:
        """Start from what was loaded."""
        self._steps = 0
        self._start = {p: to_numpy(p.data()).astype(np.float64) for p in self._rules}

    def advance(self) -> None:
        """Count a training step."""
        self._steps += 1

    def canonical(self, parameter: gluon.Parameter, native: np.ndarray) -> np.ndarray:
        """What PyTorch would have where MXNet has `native`."""
        momentum, factor = self._rules[parameter]
        kept = momentum**self._steps * self._start[parameter]
        canonical: np.ndarray = kept + factor * (native - kept)
        return canonical.astype(native.dtype)


class ExactStatistics(Statistics):
    """In float64, where native statistics are those of the last batch: see `layers.BatchNorm`."""

    says = "in fp64 running statistics are averaged beside the kernel, whose momentum is fp32"

    def begin(self) -> None:
        self._averages: dict[gluon.Parameter, nd.NDArray] = {
            parameter: parameter.data().copy() for parameter in self._rules
        }

    def advance(self) -> None:
        """Enqueue a training step's update."""
        for parameter, average in self._averages.items():
            momentum, factor = self._rules[parameter]
            average *= momentum
            average += (1 - momentum) * factor * parameter.data()

    def canonical(self, parameter: gluon.Parameter, native: np.ndarray) -> np.ndarray:
        return to_numpy(self._averages[parameter])
