"""What a precision's name means in PaddlePaddle, and the check that it took effect."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

import paddle
from paddle import nn

from mbench.contract.adapter import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mbench_paddle.compiler import Eager

    Tensors = Mapping[str, paddle.Tensor]

__all__ = ["Precision", "resolve", "widened"]

HALVES = ("float16", "bfloat16")
PRODUCTS = (nn.Linear, nn.Conv2D)
"""Layers whose outputs are products; under AMP, a bias in float32 may widen that of others."""


@dataclass(frozen=True)
class Precision:
    """`parameters` is the type of parameters, statistics and inputs, `products` of products.

    `lowered` says that the model is in float32 and the compiler takes it down to `products`.
    """

    name: str
    parameters: str
    products: str
    tf32: bool = False
    lowered: bool = False

    @property
    def level(self) -> str | None:
        """PaddlePaddle's AMP level: O1 casts around operations, O2 the parameters too."""
        if self.lowered or self.products not in HALVES:
            return None
        return "O1" if self.name.startswith("amp-") else "O2"

    def differences(self) -> list[str]:
        """What a reader should know of this precision's making."""
        found = []
        if self.lowered:
            found.append(f"the engine takes a float32 model down to {self.products} where it can")
        elif self.level == "O1":
            found.append(f"mixed precision is paddle.amp's level O1 in {self.products}")
        elif self.level == "O2":
            found.append(
                f"{self.name} is paddle.amp's level O2 without master weights: norms that it "
                "spares stay in float32"
            )
        if self.name == "amp-fp16":
            found.append("dynamic loss scaling by GradScaler, which skips steps that overflow")
        return found

    def built(self, build: Callable[[], nn.Layer]) -> nn.Layer:
        """The model, its tensors of this precision's types from the start: nn.LSTM has a buffer
        that cannot be cast.
        """
        before = paddle.get_default_dtype()
        paddle.set_default_dtype("float32" if self.level == "O2" else self.parameters)
        try:
            model = build()
        finally:
            paddle.set_default_dtype(before)
        if self.level == "O2":
            paddle.amp.decorate(models=model, level="O2", dtype=self.products, master_weight=False)
        return model

    def autocast(self, function: Callable) -> Callable:
        """`function`, under autocast where this precision has it."""
        if self.level is None:
            return function
        decorated: Callable = paddle.amp.auto_cast(level=self.level, dtype=self.products)(function)
        return decorated

    def scaler(self) -> paddle.amp.GradScaler | None:
        """A new loss scaler where float16 gradients need one."""
        return paddle.amp.GradScaler() if self.name == "amp-fp16" else None

    def check(
        self, forward: Callable[[nn.Layer, Tensors], Tensors], model: nn.Layer, batch: Tensors
    ) -> None:
        """Raise Unsupported unless a forward pass of one sample has products in this precision.

        What the compiler lowers, it checks itself. Batch norms keep their statistics.
        """
        found = set()

        def see(_layer: nn.Layer, _inputs: object, output: paddle.Tensor) -> None:
            found.add(output.dtype)

        products = (layer for layer in model.sublayers() if isinstance(layer, PRODUCTS))
        hooks = [layer.register_forward_post_hook(see) for layer in products]
        norms = [layer for layer in model.sublayers() if isinstance(layer, nn.BatchNorm2D)]
        for norm in norms:
            norm.eval()
        with paddle.no_grad():
            self.autocast(forward)(model, {name: tensor[:1] for name, tensor in batch.items()})
        for norm in norms:
            norm.training = model.training
        for hook in hooks:
            hook.remove()
        if getattr(paddle, self.parameters if self.lowered else self.products) not in found:
            names = ", ".join(sorted(str(dtype) for dtype in found))
            raise Unsupported(f"{self.name} has no effect here: products are {names}")


PRECISIONS = {
    precision.name: precision
    for precision in (
        Precision("fp32", "float32", "float32"),
        Precision("fp64", "float64", "float64"),
        Precision("tf32", "float32", "float32", tf32=True),
        Precision("amp-bf16", "float32", "bfloat16"),
        Precision("amp-fp16", "float32", "float16"),
        Precision("bf16", "bfloat16", "bfloat16"),
        Precision("fp16", "float16", "float16"),
    )
}


def resolve(name: str, compiler: Eager) -> Precision:
    """The precision with its process-wide flags set; raises Unsupported where it has no effect."""
    if name not in PRECISIONS:
        raise Unsupported(f"PaddlePaddle's adapter has no precision {name}")
    precision = PRECISIONS[name]
    if compiler.lowers and precision.products in HALVES:
        if name.startswith("amp-"):
            raise Unsupported(f"the inference engine has no {name}: use {name[len('amp-') :]}")
        precision = dataclasses.replace(precision, parameters="float32", lowered=True)
    if compiler.device == "cuda":
        capability = paddle.device.cuda.get_device_capability()
        if precision.tf32 and capability < (8, 0):
            raise Unsupported("TensorFloat-32 needs a GPU of compute capability 8.0 or newer")
        if precision.products == "bfloat16" and capability < (8, 0):
            raise Unsupported("bfloat16 needs a GPU of compute capability 8.0 or newer")
        if precision.products == "float16" and capability < (7, 0):
            raise Unsupported("float16 needs a GPU of compute capability 7.0 or newer")
        # TensorFloat-32 is on unless told otherwise.
        paddle.base.core.set_cublas_switch(precision.tf32)
        paddle.base.core.set_cudnn_switch(precision.tf32)
    elif precision.tf32 or precision.products == "float16":
        raise Unsupported(f"PaddlePaddle has no {name} on CPU")
    elif precision.level is not None:
        raise Unsupported(f"PaddlePaddle has no {name} on CPU outside of its inference engine")
    return precision


def widened(outputs: Tensors) -> Tensors:
    """Half-precision outputs in float32, in which the loss is computed; others as they are."""
    return {
        name: output.astype("float32")
        if output.dtype in (paddle.float16, paddle.bfloat16)
        else output
        for name, output in outputs.items()
    }
