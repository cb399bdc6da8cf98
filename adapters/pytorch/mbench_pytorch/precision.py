"""How PyTorch computes in a precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from mbench.sdk.checks import check_capability

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mbench.contract.precision import Precision
    from mbench_pytorch.compiler import Eager

    Function = Callable[..., Any]


__all__ = ["autocast", "differences", "on_tensor_cores", "set_flags", "widened"]


def differences(precision: Precision) -> list[str]:
    """What a reader should know about how this precision is computed."""
    found = []
    if precision.mixed:
        found.append(f"mixed precision is torch.autocast in torch.{precision.products}")
    elif precision.half:
        found.append("batch statistics and optimizer state are half precision too")
    if precision.scales_loss:
        found.append("dynamic loss scaling by GradScaler, which skips steps that overflow")
    return found


def on_tensor_cores(precision: Precision) -> bool:
    """Whether convolutions on CUDA run on Tensor Cores. The channels_last tutorial ties its gain to
    reduced precision there; IEEE single precision may even be slower with that layout.
    """
    return precision.tf32 or precision.half


def set_flags(precision: Precision, compiler: Eager) -> None:
    """Set process-wide options; raises Unsupported if the device lacks the precision."""
    if compiler.device.type == "cuda":
        check_capability(precision, torch.cuda.get_device_capability(compiler.device))
        # cuDNN's TensorFloat-32 is on by default.
        torch.backends.cudnn.allow_tf32 = precision.tf32
        torch.set_float32_matmul_precision("high" if precision.tf32 else "highest")


def autocast(function: Function, precision: Precision, compiler: Eager) -> Function:
    """`function`, under autocast if the precision is mixed."""
    if not precision.mixed:
        return function
    return torch.autocast(compiler.device.type, getattr(torch, precision.products))(function)


def widened(outputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Half-precision outputs in float32, in which the loss is computed; others unchanged."""
    return {
        name: output.float() if output.dtype in (torch.float16, torch.bfloat16) else output
        for name, output in outputs.items()
    }
