"""The workload's update rule as PaddlePaddle's own optimizer, with clipping and loss scaling."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import paddle
from paddle.regularizer import L2Decay

from mbench.sdk.optimizer import UpdateBase, decays, find_rule
from mbench_paddle.rules import RULES, ClipGradByGlobalNorm

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Update"]


class Update(UpdateBase):
    """Backward pass, clipping and parameter update of one loss."""

    def build(self) -> None:
        spec, native = self.spec, find_rule(self.workload, RULES)
        own = decays(self.workload, self.parameters)
        if spec.rule == "sgd":
            constants: dict[str, Any] = {
                "momentum": spec.momentum, "use_multi_tensor": self.at_once,
            }  # fmt: skip
            for name, parameter in self.parameters.items():
                # A parameter's own regularizer is fused into its update; 0 leaves it out.
                parameter.regularizer = L2Decay(own[name])
        else:
            constants = {"epsilon": spec.epsilon, "weight_decay": spec.weight_decay}
            constants |= dict(zip(("beta1", "beta2"), spec.betas, strict=True))
            decayed = {parameter.name for name, parameter in self.parameters.items() if own[name]}
            constants["apply_decay_param_fun"] = decayed.__contains__
        together = "all parameters at once" if self.at_once else "one parameter after another"
        self.differences = [f"{native.__name__} updates {together}"]
        if spec.clip_norm is not None:
            constants["grad_clip"] = ClipGradByGlobalNorm(spec.clip_norm)
            said = "clipping divides by norm + 1e-6 as documented, not by max(norm, clip_norm)"
            self.differences.append(said)
        parameters = list(self.parameters.values())
        self._make = partial(native, spec.learning_rate, parameters=parameters, **constants)
        self._scaler = paddle.amp.GradScaler() if self.precision.scales_loss else None

    @property
    def at_once(self) -> bool:
        """Whether to use Momentum's multi-tensor kernel: only in float32, where it is proven."""
        asked = self.settings.get("optimizer") == "multi_tensor" and self.spec.rule == "sgd"
        return asked and self.precision.name == "fp32"

    def reset(self) -> None:
        self._optimizer = self._make()  # a new one: an optimizer forgets nothing
        self.zero_gradients()

    def set_learning_rate(self, rate: float) -> None:
        self._optimizer.set_lr(rate)
        if self.precision.parameters == "float64":  # set_lr rounds to float32 in any case
            self._optimizer._create_global_learning_rate()
            self._optimizer._global_learning_rate().set_value(np.array(rate))

    def loss_scale(self) -> float:
        return 1.0 if self._scaler is None else float(self._scaler.state_dict()["scale"].item())

    def zero_gradients(self) -> None:
        self._optimizer.clear_grad(set_to_zero=False)

    def backward(self, loss: paddle.Tensor) -> None:
        """Enqueue the backward pass; gradients must have been zeroed before a step's first."""
        (loss if self._scaler is None else self._scaler.scale(loss)).backward()

    def advance(self) -> None:
        """Enqueue the update by the current gradients."""
        if self._scaler is None:
            self._optimizer.step()
            return
        self._scaler.step(self._optimizer)  # divides by the scale, then clips
        self._scaler.update()

    def by(self, gradients: Mapping[str, paddle.Tensor]) -> None:
        """Enqueue the update by given gradients, without copying them.

        This is what `step` does with the parameters' own gradients. To set those would copy them.
        """
        pairs = [(self.parameters[name], gradient) for name, gradient in gradients.items()]
        with paddle.no_grad():
            self._optimizer._apply_optimize(None, None, pairs)
