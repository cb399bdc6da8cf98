"""The ways in which MXNet runs a step: as Gluon's graph, fused by oneDNN, or eagerly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mxnet as mx

from mbench.sdk.checks import require
from mbench.sdk.compiler import Compiler

if TYPE_CHECKING:
    from mxnet import gluon

__all__ = ["COMPILERS", "Eager"]


class Eager(Compiler):
    """Operations are handed to MXNet's engine one by one. They are only enqueued, on CPU too."""

    def __init__(self, device: str) -> None:
        self.device = mx.gpu() if device == "cuda" else mx.cpu()

    def refresh(self, block: gluon.HybridBlock) -> None:
        """Make the compiled `block` use the parameters loaded since."""

    def synchronize(self) -> None:
        mx.nd.waitall()

    def peak_memory_bytes(self) -> int | None:
        """On CUDA, MXNet reports only what is in use on the whole device, including by others."""
        return None if self.device.device_type == "gpu" else super().peak_memory_bytes()


class Hybrid(Eager):
    """Gluon's hybridize: one graph, its memory planned once."""

    differences = (
        "the model, with the loss in training, is one graph of static memory and shapes",
    )

    def compile(self, block: gluon.HybridBlock) -> gluon.HybridBlock:
        """Decide how `block` will run; its first call does the work."""
        block.hybridize(static_alloc=True, static_shape=True)
        return block


class OneDNN(Eager):
    """Gluon's graph, in which oneDNN fuses into convolutions what follows them.

    Batch norm is folded into the weights in the first step.
    """

    differences = (
        "oneDNN's graph pass fuses batch norm, ReLU and sum into convolutions; it keeps the folded "
        "weights, so loading parameters builds the graph anew",
    )

    def __init__(self, device: str) -> None:
        super().__init__(device)
        has = mx.runtime.Features().is_enabled("MKLDNN")
        require(has, "this build of MXNet has no oneDNN")

    def compile(self, block: gluon.HybridBlock) -> gluon.HybridBlock:
        block.hybridize(backend="MKLDNN", static_alloc=True, static_shape=True)
        return block

    def refresh(self, block: gluon.HybridBlock) -> None:
        self.compile(block)


COMPILERS: dict[str, type[Eager]] = {"hybrid": Hybrid, "onednn": OneDNN, "eager": Eager}
