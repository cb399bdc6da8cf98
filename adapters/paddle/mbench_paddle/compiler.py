"""The ways in which PaddlePaddle runs a step: how it is compiled and waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import paddle

from mbench.sdk.checks import require
from mbench.sdk.compiler import Compiler
from mbench_paddle.engine import Predictor
from mbench_paddle.graph import OneGraph
from mbench_paddle.precision import autocast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from paddle import nn

    from mbench.contract.precision import Precision

    Tensors = Mapping[str, paddle.Tensor]

    Function = Callable[..., Any]


__all__ = ["COMPILERS", "Eager"]


class Eager(Compiler):
    """Operations run one by one (dygraph); on CUDA they are only enqueued."""

    lowers = False
    """Whether the compiler itself lowers a float32 model to half precision."""
    one_graph = False
    """Whether forward and backward pass are one graph each."""

    def infer(self, forward: Function, model: nn.Layer, precision: Precision) -> Function:
        """The forward pass of a batch without gradients."""

        def compute(batch: Tensors) -> Tensors:
            return forward(model, batch)

        return paddle.no_grad()(autocast(self.compile(compute), precision))

    def refresh(self, batch: Tensors) -> None:
        """Use the parameters loaded since; there is nothing to do if the model itself runs."""

    def synchronize(self) -> None:
        if self.device == "cuda":
            paddle.device.synchronize()

    def peak_memory_bytes(self) -> int | None:
        if self.device == "cuda":
            return int(paddle.device.cuda.max_memory_allocated())
        return super().peak_memory_bytes()

    def begin_peak(self) -> bool:
        if self.device == "cuda":
            paddle.device.cuda.reset_max_memory_allocated()
            return True
        return super().begin_peak()


class Static(Eager):
    """paddle.jit.to_static in its default mode; the optimizer is not compiled."""

    differences = ("paddle.jit.to_static in its default mode, the optimizer is not compiled",)
    one_graph = True
    backend: str | None = None

    def compile(self, function: Callable[[Tensors], object]) -> Function:
        return OneGraph(paddle.jit.to_static(function, backend=self.backend))


class Cinn(Static):
    """paddle.jit.to_static with CINN, PaddlePaddle's compiler of fused kernels."""

    differences = ("paddle.jit.to_static with CINN, the optimizer is not compiled",)
    backend = "CINN"

    def __init__(self, device: str) -> None:
        super().__init__(device)
        require(paddle.is_compiled_with_cinn(), "this build of PaddlePaddle has no CINN")


class Engine(Eager):
    """PaddlePaddle's inference engine, which runs a saved model."""

    differences = ("the inference engine's graph passes, and oneDNN on CPU but in float64",)
    lowers = True

    def infer(self, forward: Function, model: nn.Layer, precision: Precision) -> Function:
        self._predictor = Predictor(forward, model, precision, on_cuda=self.device == "cuda")
        return self._predictor

    def refresh(self, batch: Tensors) -> None:
        self._predictor.refresh(batch)


COMPILERS = {"eager": Eager, "static": Static, "cinn": Cinn, "engine": Engine}
