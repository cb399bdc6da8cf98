"""Batch norm's running statistics between PaddlePaddle's convention and the canonical one."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from paddle import nn

from mbench.contract.precision import PRECISIONS
from mbench.sdk.checks import SAMPLE, is_unbiased
from mbench_paddle.layers import batch_norm, held
from mbench_paddle.parameters import Tensor, placed
from mbench_paddle.precision import built

if TYPE_CHECKING:
    from collections.abc import Mapping

    import paddle

    from mbench_paddle.compiler import Eager

__all__ = ["RunningStatistics", "averages_unbiased"]


@functools.cache
def averages_unbiased(kind: type[Eager], device: str, *, exact: bool) -> bool:
    """Whether running variances are unbiased under a compiler: by cuDNN they are, not on CPU."""
    precision = PRECISIONS["fp64" if exact else "fp32"]
    norm = built(partial(batch_norm, 1, momentum=0.0, epsilon=1e-5), precision)

    def compute(batch: Mapping[str, paddle.Tensor]) -> paddle.Tensor:
        return norm(batch["x"]).sum()

    x = placed(SAMPLE).astype(precision.parameters)
    kind(device).compile(compute)({"x": x})
    return is_unbiased(norm._variance.item())


@dataclass(frozen=True, eq=False)
class Statistic(Tensor):
    """A running mean or variance; the model holds it multiplied by `unit`.

    The model's averages lack `factor`.
    """

    kept: RunningStatistics = field(kw_only=True)
    momentum: float = field(kw_only=True)
    unit: float = field(kw_only=True)
    factor: float = field(kw_only=True)

    def write(self, array: np.ndarray) -> None:
        start = self.kept.starts[self] = array.astype(np.float64)
        super().write(start * self.unit)

    def read(self) -> np.ndarray:
        array = super().read()
        found = array.astype(np.float64) / self.unit
        if self.factor != 1 and self.kept.steps:
            old = self.kept.starts[self] * self.momentum**self.kept.steps
            found = old + (found - old) * self.factor
        return found.astype(array.dtype)


class RunningStatistics:
    """The running statistics of a model, converted to canonical ones and back.

    Variances: canonical ones are unbiased. Where PaddlePaddle averages biased ones, after k steps
    from v, its average is momentum^k v + B, and the canonical one is momentum^k v + n / (n - 1) B,
    with n = batch * height * width, the number of values behind each statistic.

    float64: the kernel takes momentum as float32, so its shares of the old and of the new statistic
    are off by 3e-8 and 2e-7. The share of the new one is corrected by the unit in which a training
    model keeps its averages, that of the old one before each step.
    """

    def __init__(
        self,
        model: nn.Layer,
        counts: Mapping[nn.BatchNorm2D, int],
        *,
        exact: bool,
        unbiased: bool,
    ) -> None:
        """`counts` has the n of each layer that runs; auxiliary heads do not in inference."""
        self._exact = exact and model.training
        self.steps = 0
        self.starts: dict[Statistic, np.ndarray] = {}
        self.natives: dict[str, Statistic] = {}
        for name, layer in model.named_sublayers():
            if not isinstance(layer, nn.BatchNorm2D):
                continue
            momentum, stretch = layer._momentum, layer.stretch if exact else 1.0
            unit = (1 - held(momentum)) / (1 - momentum) if self._exact else 1.0
            count = counts.get(layer, 1)
            # One value has no variance: B = 0.
            lacking = 1.0 if unbiased or count == 1 else count / (count - 1)
            for kind, tensor, power, factor in (
                ("mean", layer._mean, 1, 1.0),
                ("var", layer._variance, 2, lacking),
            ):
                self.natives[f"{name}.running_{kind}"] = Statistic(
                    tensor, trainable=False, kept=self, momentum=momentum,
                    unit=unit * stretch**power, factor=factor,
                )  # fmt: skip

        said = "running variances are biased: they are converted to unbiased ones"
        self.differences = [said] if self.natives and not unbiased else []

    def restart(self) -> None:
        """Start from the loaded values."""
        self.steps = 0

    def advance(self) -> None:
        """Called before each training step."""
        self.steps += 1
        if self._exact:
            for native in self.natives.values():
                native.tensor.scale_(native.momentum / held(native.momentum))
