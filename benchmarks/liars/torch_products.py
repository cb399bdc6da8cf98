"""Products of PyTorch's layers in fewer bits than are asked for, simulated by rounding."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["coarsen", "coarsen_backward", "smooth_labels"]

LARGEST = {"int8": 127.0, "fp8": 448.0}


def products(model: nn.Module) -> list[nn.Module]:
    return [one for one in model.modules() if isinstance(one, (nn.Conv2d, nn.Linear))]


def product(module: nn.Module) -> Callable[..., torch.Tensor]:
    if isinstance(module, nn.Conv2d):
        return partial(
            functional.conv2d, stride=module.stride, padding=module.padding,
            dilation=module.dilation, groups=module.groups,
        )  # fmt: skip
    return functional.linear


def rounded(tensor: torch.Tensor, kind: str) -> torch.Tensor:
    scale = tensor.detach().abs().amax().float().clamp(min=1e-30) / LARGEST[kind]
    scaled = tensor.float() / scale
    held = scaled.round() if kind == "int8" else scaled.to(torch.float8_e4m3fn).float()
    return (held * scale).to(tensor.dtype)


def coarsen(model: nn.Module, kind: str) -> None:
    """Round the inputs and the weights of all products."""
    for module in products(model):

        def forward(given: torch.Tensor, own: nn.Module = module) -> torch.Tensor:
            return product(own)(rounded(given, kind), rounded(own.weight, kind), own.bias)

        module.forward = forward


class Coarse(torch.autograd.Function):
    """A product whose gradients are products in bfloat16."""

    @staticmethod
    def forward(ctx: Any, call: Any, *operands: torch.Tensor) -> torch.Tensor:
        ctx.call = call
        ctx.save_for_backward(*operands)
        found: torch.Tensor = call(*operands)
        return found

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
        with torch.enable_grad():
            held = [one.detach().bfloat16().requires_grad_() for one in ctx.saved_tensors]
            along = gradient.bfloat16()
            found = torch.autograd.grad(ctx.call(*held), held, along)
        return (None, *(one.float() for one in found))


def coarsen_backward(model: nn.Module) -> None:
    for module in products(model):

        def forward(given: torch.Tensor, own: nn.Module = module) -> torch.Tensor:
            operands = [given, own.weight] + [own.bias] * (own.bias is not None)
            found: torch.Tensor = Coarse.apply(product(own), *operands)
            return found

        module.forward = forward


def smooth_labels(by: float) -> None:
    """Smooth labels in all losses of this process."""
    usual = functional.cross_entropy
    functional.cross_entropy = partial(usual, label_smoothing=by)
