"""Batch norm's running statistics, which are read as PyTorch would have them."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from mxnet import autograd, nd

from mbench.sdk.checks import SAMPLE, is_unbiased
from mbench_mxnet.layers import BatchNorm
from mbench_mxnet.parameters import Tensor, named, to_numpy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mxnet import gluon

    from mbench.sdk.tensors import Native
    from mbench_mxnet.compiler import Eager

__all__ = ["ExactStatistics", "Statistics", "averages_unbiased"]


@functools.cache
def averages_unbiased(kind: type[Eager], device: str, dtype: str) -> bool:
    """Whether running variances are unbiased under a compiler: by cuDNN they are, not on CPU."""
    compiler = kind(device)
    norm = BatchNorm(momentum=0.0, epsilon=1e-5, in_channels=1)
    norm.cast(dtype)
    norm.initialize(ctx=compiler.device)
    compiler.compile(norm)
    with autograd.record():
        out = norm(nd.array(SAMPLE, ctx=compiler.device, dtype=dtype))
    out.backward()  # on CPU, this updates the running statistics
    return is_unbiased(norm.running_var.data().asscalar())


@dataclass(frozen=True, eq=False)
class Statistic(Tensor):
    """A running mean or variance of `kept`."""

    kept: Statistics = field(kw_only=True)

    def fetch(self) -> np.ndarray:
        return self.kept.canonical(self.tensor, super().fetch())


class Statistics:
    """Corrects MXNet's averaged variances, which lack the factor n / (n - 1) unless `unbiased`.

    After k steps from `start`, a variance is momentum**k * start plus a rest without this factor.
    """

    says = "running variances are kept biased, and unbiased where they are read"

    def __init__(self, norms: Mapping[BatchNorm, int], *, unbiased: bool) -> None:
        """`norms` maps each batch norm to its n, the number of values behind a statistic."""
        self._rules: dict[gluon.Parameter, tuple[float, float]] = {}
        for norm, count in norms.items():
            self._rules[norm.running_mean] = norm.momentum, 1.0
            factor = 1.0 if unbiased else count / max(count - 1, 1)
            self._rules[norm.running_var] = norm.momentum, factor
        as_read = unbiased and type(self) is Statistics
        self.differences = [self.says] if self._rules and not as_read else []
        self.begin()

    def natives(self, model: gluon.HybridBlock) -> dict[str, Native]:
        """All tensors of `model`, including these statistics."""
        return {
            name: Statistic(tensor.tensor, trainable=False, kept=self)
            if tensor.tensor in self._rules
            else tensor
            for name, tensor in named(model).items()
        }

    def begin(self) -> None:
        """Start from the loaded values."""
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
