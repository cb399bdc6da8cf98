"""Batch norm's running statistics between PaddlePaddle's convention and the canonical one."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mbench_paddle.layers import BatchNorm2D, held

if TYPE_CHECKING:
    from collections.abc import Iterator

    import paddle
    from paddle import nn

__all__ = ["RunningStatistics"]


@dataclass(frozen=True)
class Statistic:
    """One running mean or variance; the model keeps it times `unit`."""

    layer: str
    tensor: paddle.Tensor
    momentum: float
    unit: float
    is_variance: bool


class RunningStatistics:
    """What turns the model's running statistics into canonical ones, and back.

    Variances: PaddlePaddle averages biased ones, canonical are unbiased ones. After k steps from
    v the native average is momentum^k v + B, and the canonical momentum^k v + n / (n - 1) B, with
    n = batch * height * width, the number of values behind each statistic.

    float64: the kernel takes momentum as float32, so its shares of the old and of the new
    statistic are off by 3e-8 and 2e-7. The share of the new one is made good by the unit in which
    a training model keeps its averages, that of the old one before each step.
    """

    def __init__(self, model: nn.Layer, *, batch_size: int, exact: bool) -> None:
        self._batch_size = batch_size
        self._exact = exact and model.training
        self._steps = 0
        self._layers = {
            name: layer for name, layer in model.named_sublayers() if isinstance(layer, BatchNorm2D)
        }
        self._values: dict[str, int] = {}
        self._starts: dict[str, np.ndarray] = {}
        self._statistics = {}
        for name, layer in self._layers.items():
            momentum, stretch = layer._momentum, layer.stretch if exact else 1.0
            unit = (1 - held(momentum)) / (1 - momentum) if self._exact else 1.0
            for kind, tensor, power in (("mean", layer._mean, 1), ("var", layer._variance, 2)):
                self._statistics[f"{name}.running_{kind}"] = Statistic(
                    name, tensor, momentum, unit * stretch**power, is_variance=kind == "var"
                )

    def __bool__(self) -> bool:
        return bool(self._statistics)

    def __contains__(self, name: str) -> bool:
        return name in self._statistics

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Learn how many values each layer averages over, while the model runs on any batch."""

        def see(name: str, _layer: nn.Layer, _inputs: object, output: paddle.Tensor) -> None:
            self._values[name] = self._batch_size * output.shape[2] * output.shape[3]

        hooks = [
            layer.register_forward_post_hook(partial(see, name))
            for name, layer in self._layers.items()
        ]
        yield
        for hook in hooks:
            hook.remove()

    def restart(self) -> None:
        self._steps = 0

    def advance(self) -> None:
        """Called before each training step."""
        self._steps += 1
        if self._exact:
            for statistic in self._statistics.values():
                statistic.tensor.scale_(statistic.momentum / held(statistic.momentum))

    def native(self, name: str, array: np.ndarray) -> np.ndarray:
        """What the model keeps for the canonical statistic `array`, from which it starts."""
        self._starts[name] = array.astype(np.float64)
        return self._starts[name] * self._statistics[name].unit

    def canonical(self, name: str, array: np.ndarray) -> np.ndarray:
        """The canonical statistic, of `array`'s type, for what the model keeps."""
        statistic = self._statistics[name]
        found = array.astype(np.float64) / statistic.unit
        # Without a step, B is 0; an auxiliary head does not even run in inference.
        if statistic.is_variance and self._steps:
            values = self._values[statistic.layer]
            if values > 1:  # a single value has no variance: B is 0
                old = self._starts[name] * statistic.momentum**self._steps
                found = old + (found - old) * (values / (values - 1))
        return found.astype(array.dtype)
