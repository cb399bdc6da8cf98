"""The workload's update rule as PyTorch's own fused optimizer, with clipping and loss scaling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.workloads.workload import Optimizer, Workload
    from mbench_pytorch.precision import Precision

__all__ = ["Update"]


class Update:
    """Backward pass, clipping and parameter update of one loss.

    torch.optim.SGD and AdamW compute exactly the documented rules. `parameters` are the
    trainable ones by canonical name.
    """

    def __init__(
        self,
        workload: Workload,
        parameters: Mapping[str, torch.nn.Parameter],
        precision: Precision,
        device: torch.device,
    ) -> None:
        self._parameters = list(parameters.values())
        self._clip_norm = workload.optimizer.clip_norm
        self._precision = precision
        self._device = device
        fused = fuses(workload.optimizer.rule, precision.parameters, device)
        self._optimizer = build(workload, parameters, fused=fused)
        name = type(self._optimizer).__name__
        self.differences = [f"{name} is {'one fused kernel' if fused else 'not fused'}"]
        self.reset()

    def reset(self) -> None:
        """Forget moments, step counts, gradients and the loss scale."""
        self._optimizer.state.clear()
        self.zero_gradients()
        self._scaler = self._precision.scaler(self._device)

    def zero_gradients(self) -> None:
        self._optimizer.zero_grad(set_to_none=True)

    def __call__(self, loss: torch.Tensor) -> None:
        """Enqueue the update; gradients must have been zeroed."""
        if self._scaler is None:
            loss.backward()
            self._clip()
            self._optimizer.step()
            return
        self._scaler.scale(loss).backward()
        if self._clip_norm is not None:
            self._scaler.unscale_(self._optimizer)
            self._clip()
        self._scaler.step(self._optimizer)
        self._scaler.update()

    def _clip(self) -> None:
        if self._clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(self._parameters, self._clip_norm)


def fuses(rule: str, dtype: torch.dtype, device: torch.device) -> bool:
    """Whether PyTorch has a fused kernel for the rule, and one that works.

    On CPU (seen in 2.13.0) fused SGD computes in half precision, but stores nothing.
    """
    if device.type == "cpu" and rule == "sgd":
        return dtype in (torch.float32, torch.float64)
    return device.type in ("cpu", "cuda")


def build(
    workload: Workload, parameters: Mapping[str, torch.nn.Parameter], *, fused: bool
) -> torch.optim.Optimizer:
    """The native optimizer of `workload.optimizer`, in a group with weight decay and one without.

    Raises ValueError for a rule that it does not know.
    """
    spec: Optimizer = workload.optimizer
    spared = {tensor.name for tensor in workload.tensors() if not tensor.decay}
    groups = []
    for decay, weight_decay in ((True, spec.weight_decay), (False, 0.0)):
        members = [p for name, p in parameters.items() if (name not in spared) is decay]
        if members:
            groups.append({"params": members, "weight_decay": weight_decay})
    if spec.rule == "sgd":
        return torch.optim.SGD(groups, lr=spec.learning_rate, momentum=spec.momentum, fused=fused)
    if spec.rule == "adamw":
        return torch.optim.AdamW(
            groups, lr=spec.learning_rate, betas=spec.betas, eps=spec.epsilon, fused=fused
        )
    raise ValueError(f"there is no optimizer {spec.rule!r}: sgd and adamw are")
