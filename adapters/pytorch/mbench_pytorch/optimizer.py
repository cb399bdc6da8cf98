"""The workload's update rule as PyTorch's own optimizer, with clipping and loss scaling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from mbench.sdk.optimizer import UpdateBase, find_rule, groups

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Update"]

RULES = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}
"""They compute exactly the documented rules."""


class Update(UpdateBase):
    """Backward passes, clipping and parameter update."""

    def build(self) -> None:
        spec, native = self.spec, find_rule(self.workload, RULES)
        fused = self.settings.get("optimizer") == "fused" and fuses(
            spec.rule, self.precision.parameters, self.compiler.device.type
        )
        members = [
            {"params": members, "weight_decay": decay}
            for decay, members in groups(self.workload, self.parameters)
        ]
        constants: dict[str, Any] = {"momentum": spec.momentum}
        if spec.rule != "sgd":
            constants = {"betas": spec.betas, "eps": spec.epsilon}
        self._optimizer = native(members, lr=spec.learning_rate, fused=fused or None, **constants)
        self.differences = [f"{native.__name__} is {'fused' if fused else 'as it comes'}"]
        device, scales = self.compiler.device.type, self.precision.scales_loss
        if scales and not fused:  # a fused one checks on the device whether to skip the step
            self.differences.append("GradScaler waits for the gradients before each update")
        self._scaler = torch.amp.GradScaler(device, enabled=scales)  # if disabled, a no-op

    def reset(self) -> None:
        self._optimizer.state.clear()
        self.zero_gradients()

    def set_learning_rate(self, rate: float) -> None:
        for group in self._optimizer.param_groups:
            group["lr"] = rate

    def loss_scale(self) -> float:
        return self._scaler.get_scale()

    def zero_gradients(self) -> None:
        self._optimizer.zero_grad(set_to_none=True)

    def backward(self, loss: torch.Tensor) -> torch.Tensor:
        """Add the gradients of a loss to those of earlier ones; returns the loss, detached."""
        self._scaler.scale(loss).backward()
        return loss.detach()

    def advance(self) -> None:
        """Enqueue the update by the gradients that parameters have."""
        if self.spec.clip_norm is not None:
            self._scaler.unscale_(self._optimizer)
            torch.nn.utils.clip_grad_norm_(self.parameters.values(), self.spec.clip_norm)
        self._scaler.step(self._optimizer)
        self._scaler.update()

    def by(self, gradients: Mapping[str, torch.Tensor]) -> None:
        """Enqueue the update by given gradients."""
        for name, gradient in gradients.items():
            self.parameters[name].grad = gradient
        self.advance()


def fuses(rule: str, parameters: str, device: str) -> bool:
    """Whether PyTorch has a working fused kernel for the rule.

    On CPU, fused SGD on half-precision parameters computes, but stores nothing (seen in 2.13.0).
    """
    if device == "cpu" and rule == "sgd":
        return parameters in ("float32", "float64")
    return device in ("cpu", "cuda")
