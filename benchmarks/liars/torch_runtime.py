"""PyTorch, lying."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from liars.runtime import lying
from mbench_pytorch.runtime import Benchmark
from mbench_pytorch.runtime import Runtime as Honest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Tensors = Mapping[str, torch.Tensor]

__all__ = ["Runtime"]


class Open(Benchmark):
    """What lies need from a framework."""

    def judge_only(self) -> None:
        """Normalize as in inference."""
        self.model.eval()

    def judge(self, wanted: bool) -> None:
        """Normalize as in inference, or as in training again."""
        self.model.train(not wanted)

    def coarsen_state(self) -> None:
        """Round the optimizer's state to bfloat16."""
        for state in self.update._optimizer.state.values():
            for kept in state.values():
                if torch.is_tensor(kept) and kept.ndim:
                    kept.copy_(kept.bfloat16())

    def gradients_left(self) -> Tensors:
        """The last step's gradients by all parameters."""
        return {name: one.grad.clone() for name, one in self.update.parameters.items()
                if one.grad is not None}  # fmt: skip

    def differentiated(self, batch: Tensors, names: Sequence[str]) -> tuple[torch.Tensor, Tensors]:
        """The loss, and its gradients by some parameters only."""
        loss = self.compute(self.model, batch)
        leaves = [self.update.parameters[name] for name in names]
        found = torch.autograd.grad(loss, leaves, allow_unused=True)
        gradients = {name: one for name, one in zip(names, found, strict=True) if one is not None}
        return loss.detach(), gradients

    def update_by(self, gradients: Tensors) -> None:
        """Update by given gradients, which stay unchanged."""
        self.update.zero_gradients()
        self.update.by({name: one.clone() for name, one in gradients.items()})

    def accumulated(self, batch: Tensors, *, zero: bool, update: bool) -> torch.Tensor:
        """A step that adds its gradients to those that are there."""
        if zero:
            self.update.zero_gradients()
        loss = self.compute(self.model, batch)
        loss.backward()
        if update:
            self.update.advance()
        return loss.detach()

    def only_forward(self, batch: Tensors) -> torch.Tensor:
        with torch.no_grad():
            found: torch.Tensor = self.compute(self.model, batch)
        return found

    def bypass(self, name: str, wanted: bool) -> None:
        """Let a block return its input, or compute again."""
        module = self.model.get_submodule(name)
        if wanted:
            module.forward = lambda given, *_, **__: given
        else:
            module.__dict__.pop("forward", None)

    def set_momentum(self, wanted: bool) -> None:
        """No momentum, and a rate with steps as large; or the usual ones."""
        spec = self.update.spec
        for group in self.update._optimizer.param_groups:
            if "momentum" in group:
                group["momentum"] = 0.0 if wanted else spec.momentum
                group["lr"] = spec.learning_rate * (1 / (1 - spec.momentum) if wanted else 1)

    def seed_again(self, seed: int) -> None:
        torch.manual_seed(seed)

    def with_channels_last(self, model: Any) -> Any:
        return model.to(memory_format=torch.channels_last)

    def set_threads(self, count: int) -> None:
        torch.set_num_threads(count)

    def fuse(self) -> None:
        if next(iter(self.update.parameters.values())).dtype == torch.float32:
            for group in self.update._optimizer.param_groups:
                group["fused"], group["foreach"] = True, False

    def order_otherwise(self) -> None:
        """SGD with sums in another order, AdamW by loops over tensors."""
        optimizer = self.update._optimizer
        if "momentum" not in optimizer.param_groups[0]:
            for group in optimizer.param_groups:
                group["foreach"] = False
            return

        @torch.no_grad()
        def step() -> None:
            for group in optimizer.param_groups:
                for one in group["params"]:
                    state = optimizer.state[one]
                    decayed = group["weight_decay"] * one + one.grad
                    slow = state.get("slow")
                    state["slow"] = decayed if slow is None else decayed + slow * group["momentum"]
                    one.sub_(state["slow"] * group["lr"])

        self.update._scaler.step = lambda _: step()


Honest.benchmark = Open
Runtime = lying(Honest)
