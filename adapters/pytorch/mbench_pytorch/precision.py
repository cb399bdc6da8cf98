"""What a precision's name means in PyTorch, and the check that it took effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from mbench.contract.adapter import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import nn

    Tensors = Mapping[str, torch.Tensor]

__all__ = ["Precision", "resolve", "widened"]

HALVES = (torch.float16, torch.bfloat16)


@dataclass(frozen=True)
class Precision:
    """`parameters` is the type of parameters, statistics and inputs, `products` of products."""

    name: str
    parameters: torch.dtype
    products: torch.dtype
    tf32: bool = False

    @property
    def mixed(self) -> bool:
        return self.parameters != self.products

    def differences(self) -> list[str]:
        """What a reader should know of this precision's making."""
        found = []
        if self.mixed:
            found.append(f"mixed precision is torch.autocast in {self.products}")
        elif self.parameters in HALVES:
            found.append("batch statistics and optimizer state are half precision too")
        if self.name == "amp-fp16":
            found.append("dynamic loss scaling by GradScaler, which skips steps that overflow")
        return found

    def autocast(self, function: Callable, device: torch.device) -> Callable:
        """`function`, under autocast where this precision is mixed."""
        if not self.mixed:
            return function
        decorated: Callable = torch.autocast(device.type, dtype=self.products)(function)
        return decorated

    def scaler(self, device: torch.device) -> torch.amp.GradScaler | None:
        """A new loss scaler where float16 gradients need one."""
        return torch.amp.GradScaler(device.type) if self.name == "amp-fp16" else None

    def check(
        self,
        forward: Callable[[nn.Module, Tensors], Tensors],
        model: nn.Module,
        batch: Tensors,
        device: torch.device,
    ) -> None:
        """Raise Unsupported unless a forward pass of one sample is in this precision.

        The outputs come from linear layers, so their type is that of the products.
        """
        training = model.training
        model.eval()
        with torch.no_grad():
            sample = {name: tensor[:1] for name, tensor in batch.items()}
            outputs = self.autocast(forward, device)(model, sample)
        model.train(training)
        for name, output in outputs.items():
            if output.dtype != self.products:
                raise Unsupported(f"{self.name} has no effect here: {name} is {output.dtype}")


PRECISIONS = {
    precision.name: precision
    for precision in (
        Precision("fp32", torch.float32, torch.float32),
        Precision("fp64", torch.float64, torch.float64),
        Precision("tf32", torch.float32, torch.float32, tf32=True),
        Precision("amp-bf16", torch.float32, torch.bfloat16),
        Precision("amp-fp16", torch.float32, torch.float16),
        Precision("bf16", torch.bfloat16, torch.bfloat16),
        Precision("fp16", torch.float16, torch.float16),
    )
}


def resolve(name: str, device: torch.device) -> Precision:
    """The precision with its process-wide flags set; raises Unsupported where it has no effect."""
    if name not in PRECISIONS:
        raise Unsupported(f"PyTorch's adapter has no precision {name}")
    precision = PRECISIONS[name]
    if device.type == "cuda":
        if precision.tf32 and torch.cuda.get_device_capability(device) < (8, 0):
            raise Unsupported("TensorFloat-32 needs a GPU of compute capability 8.0 or newer")
        if precision.products == torch.bfloat16 and not torch.cuda.is_bf16_supported(
            including_emulation=False
        ):
            raise Unsupported("this GPU only emulates bfloat16: use fp16 or amp-fp16")
        # cuDNN's TensorFloat-32 is on unless told otherwise.
        torch.backends.cudnn.allow_tf32 = precision.tf32
        torch.set_float32_matmul_precision("high" if precision.tf32 else "highest")
    elif precision.tf32 or precision.products == torch.float16:
        raise Unsupported(f"PyTorch has no fast {name} on {device.type.upper()}")
    return precision


def widened(outputs: Tensors) -> Tensors:
    """Half-precision outputs in float32, in which the loss is computed; others as they are."""
    return {
        name: output.float() if output.dtype in HALVES else output
        for name, output in outputs.items()
    }
