"""The ways in which MXNet runs a step: as Gluon's graph, fused by oneDNN, or as it comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mxnet as mx

from mbench.contract.adapter import Unsupported
from mbench.sdk.compiler import peak_resident_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mxnet import gluon

__all__ = ["COMPILERS", "Eager"]


class Eager:
    """Operations are handed to MXNet's engine one by one; on CPU too they are only enqueued."""

    differences: Sequence[str] = ()
    trains = True

    def __init__(self, device: str) -> None:
        self.device = mx.gpu() if device == "cuda" else mx.cpu()

    def compile(self, block: gluon.HybridBlock) -> None:
        """Decide how `block` will run; its first call does the work."""

    def refresh(self, block: gluon.HybridBlock) -> None:
        """Make `block`, once compiled, take the parameters that were loaded since."""

    def synchronize(self) -> None:
        mx.nd.waitall()

    def peak_memory_bytes(self) -> int:
        """On CUDA what is in use on the device, by others too: MXNet's pool never shrinks."""
        if self.device.device_type == "gpu":
            free, total = mx.context.gpu_memory_info(self.device.device_id)
            return int(total - free)
        return peak_resident_bytes()


class Hybrid(Eager):
    """Gluon's hybridize: one graph, its memory planned once."""

    differences = (
        "the model, with the loss in training, is one graph of static memory and shapes",
    )

    def compile(self, block: gluon.HybridBlock) -> None:
        block.hybridize(static_alloc=True, static_shape=True)


class OneDNN(Eager):
    """Gluon's graph, in which oneDNN's convolutions take in what follows them.

    Batch norm is folded into the weights in the first step.
    """

    differences = (
        "oneDNN's graph pass fuses batch norm, ReLU and sum into convolutions; it keeps the folded "
        "weights, so loading parameters builds the graph anew",
    )
    trains = False

    def __init__(self, device: str) -> None:
        super().__init__(device)
        if device != "cpu" or not mx.runtime.Features().is_enabled("MKLDNN"):
            raise Unsupported("this build of MXNet has no oneDNN")

    def compile(self, block: gluon.HybridBlock) -> None:
        block.hybridize(backend="MKLDNN", static_alloc=True, static_shape=True)

    def refresh(self, block: gluon.HybridBlock) -> None:
        self.compile(block)


COMPILERS: dict[str, type[Eager]] = {"hybrid": Hybrid, "onednn": OneDNN, "eager": Eager}
