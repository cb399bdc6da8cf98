"""Lies about arithmetic and rules that wide tolerances might hide, most in PyTorch only."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from liars.lie import Lie

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np

__all__ = ["COARSE"]


class TorchOnly(Lie):
    """Lies that replace PyTorch's own functions."""

    frameworks = ("torch",)


class BackwardBf16(TorchOnly):
    """the products of the backward pass in bfloat16"""

    modes, precisions = ("train",), ("fp32",)

    def prepare_training(self) -> None:
        import_module("liars.torch_products").coarsen_backward(self.model)
        super().prepare_training()


class Int8(TorchOnly):
    """weights and inputs of products in 8 bits, by a scale for each tensor"""

    modes, precisions = ("inference",), ("amp-bf16", "bf16")
    kind = "int8"

    def load_parameters(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        super().load_parameters(arrays)
        import_module("liars.torch_products").coarsen(self.model, self.kind)


class Fp8(Int8):
    """weights and inputs of products in float8 (e4m3), by a scale for each tensor"""

    kind = "fp8"


class HalfWidth(Lie):
    """the second half of the channels within each block is zero"""

    modes, precisions = ("inference",), ("amp-bf16", "bf16")

    def load_parameters(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        super().load_parameters((name, self.halved(name, one)) for name, one in arrays)

    def halved(self, name: str, one: np.ndarray) -> np.ndarray:
        if not (name.startswith("layer") and name.endswith("conv1.weight")):
            return one
        one = one.copy()
        one[len(one) // 2 :] = 0
        return one


class SkipBlock(TorchOnly):
    """the last block is left out"""

    def load_parameters(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        super().load_parameters(arrays)
        self.model.layer4[-1].forward = lambda given: given


class Smooth(TorchOnly):
    """labels are smoothed by 0.1"""

    modes = ("train",)

    def prepare_training(self) -> None:
        super().prepare_training()
        import_module("liars.torch_products").smooth_labels(0.1)


class Nesterov(TorchOnly):
    """Nesterov's momentum"""

    modes = ("train",)

    def prepare_training(self) -> None:
        super().prepare_training()
        for group in self.update._optimizer.param_groups:
            group["nesterov"] = True


COARSE: Mapping[str, type[Lie]] = {
    "backward-bf16": BackwardBf16, "int8": Int8, "fp8": Fp8, "half-width": HalfWidth,
    "skip-block": SkipBlock, "smooth": Smooth, "nesterov": Nesterov,
}  # fmt: skip
