"""Running variances of Keras' batch norm, which are read as PyTorch would have them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from mbench_tensorflow.layers import KerasBatchNormalization
from mbench_tensorflow.parameters import Tensor, named, to_numpy

if TYPE_CHECKING:
    import keras

    from mbench.sdk.tensors import Native

__all__ = ["Statistics"]


@dataclass(frozen=True, eq=False)
class Variance(Tensor):
    """The running variance of one batch norm."""

    norm: KerasBatchNormalization = field(kw_only=True)
    kept: Statistics = field(kw_only=True)

    def fetch(self) -> np.ndarray:
        return self.kept.canonical(self.norm, super().fetch())


class Statistics:
    """Corrects Keras' averaged variances, which lack the factor n / (n - 1) for n values.

    After k steps from `start`, a variance is momentum**k * start plus a rest without this factor.
    """

    def __init__(self, model: keras.Model) -> None:
        self._model = model
        layers = model._flatten_layers()
        self._norms = [layer for layer in layers if isinstance(layer, KerasBatchNormalization)]
        says = "running variances are kept biased, and unbiased where they are read"
        self.differences = [says] if self._norms else []
        self.begin()

    def natives(self) -> dict[str, Native]:
        """All tensors of the model, including these variances."""
        norms = {id(norm.moving_variance): norm for norm in self._norms}
        return {
            name: Variance(tensor.tensor, False, norm=norms[id(tensor.tensor)], kept=self)
            if id(tensor.tensor) in norms
            else tensor
            for name, tensor in named(self._model).items()
        }

    def begin(self) -> None:
        """Start from the loaded values."""
        self._steps = 0
        self._start = {
            norm: to_numpy(norm.moving_variance.value).astype(np.float64) for norm in self._norms
        }

    def advance(self) -> None:
        """Count a training step."""
        self._steps += 1

    def canonical(self, norm: KerasBatchNormalization, native: np.ndarray) -> np.ndarray:
        """What PyTorch would have where Keras has `native`."""
        kept = norm.momentum**self._steps * self._start[norm]
        factor = norm.count / max(norm.count - 1, 1)
        canonical: np.ndarray = kept + factor * (native - kept)
        return canonical.astype(native.dtype)
