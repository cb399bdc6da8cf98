"""The workload's update rule as PaddlePaddle's own optimizer, with clipping and loss scaling."""

from __future__ import annotations

from functools import partial

import paddle
from paddle import nn
from paddle.regularizer import L2Decay

from mbench.sdk.optimizer import UpdateBase, clip_factor, decays, find_rule
from mbench_paddle.layers import held
from mbench_paddle.precision import wide

__all__ = ["Update"]

Gradients = list[tuple[paddle.Tensor, "paddle.Tensor | None"]]


class ClipGradByGlobalNorm(nn.ClipGradByGlobalNorm):
    """paddle.nn's own with the documented factor: min(1, clip_norm / (norm + 1e-6)).

    The native factor is clip_norm / max(norm, clip_norm), which differs by 1e-6 / norm.
    """

    @paddle.no_grad()
    def _dygraph_clip(self, params_grads: Gradients) -> Gradients:
        gradients = [gradient for _, gradient in params_grads if gradient is not None]
        squares = [paddle._C_ops.squared_l2_norm(wide(gradient)) for gradient in gradients]
        norm = paddle.stack(squares).sum().sqrt()
        factor = paddle.clip(clip_factor(self.clip_norm, norm), max=1.0)
        for gradient in gradients:
            same = gradient.dtype == factor.dtype
            gradient.multiply_(factor if same else factor.astype(gradient.dtype))
        return params_grads


class Momentum(paddle.optimizer.Momentum):
    """PaddlePaddle's own; in float64, what its kernel loses of its constants is made up for.

    The kernel takes momentum and weight decay as float32, so that 0.9 is off by 2.6e-8.
    """

    def _append_optimize_op(
        self, block: object, param_and_grad: tuple[paddle.Tensor, paddle.Tensor]
    ) -> object:
        parameter, gradient = param_and_grad
        if parameter.dtype == paddle.float64:
            if self._momentum:
                velocity = self._get_accumulator_master(self._velocity_acc_str, parameter)
                velocity.scale_(self._momentum / held(self._momentum))
            decay = parameter.regularizer._coeff
            gradient = gradient + parameter * (decay - held(decay))
        return super()._append_optimize_op(block, (parameter, gradient))


RULES = {"sgd": Momentum, "adamw": paddle.optimizer.AdamW}


class Update(UpdateBase):
    """Backward pass, clipping and parameter update of one loss."""

    def build(self) -> None:
        spec, native = self.spec, find_rule(self.workload, RULES)
        own = decays(self.workload, self.parameters)
        if spec.rule == "sgd":
            for name, parameter in self.parameters.items():
                # A parameter's own regularizer is fused into its update; 0 leaves it out.
                parameter.regularizer = L2Decay(own[name])
            constants = {"momentum": spec.momentum}
        else:
            decaying = {parameter.name for name, parameter in self.parameters.items() if own[name]}
            constants = {
                "beta1": spec.betas[0],
                "beta2": spec.betas[1],
                "epsilon": spec.epsilon,
                "weight_decay": spec.weight_decay,
                "apply_decay_param_fun": decaying.__contains__,
            }
        clips = spec.clip_norm is not None
        self._make = partial(
            native,
            spec.learning_rate,
            parameters=list(self.parameters.values()),
            grad_clip=ClipGradByGlobalNorm(spec.clip_norm) if clips else None,
            **constants,
        )
        self.differences = [f"{native.__name__} updates one parameter after another"]
        if clips:
            self.differences.append(
                "clipping divides by norm + 1e-6 as documented, not by max(norm, clip_norm)"
            )

    def reset(self) -> None:
        self._optimizer = self._make()  # the old one would not forget
        self.zero_gradients()
        self._scaler = paddle.amp.GradScaler() if self.precision.scales_loss else None

    def zero_gradients(self) -> None:
        self._optimizer.clear_grad(set_to_zero=False)

    def __call__(self, loss: paddle.Tensor) -> None:
        """Enqueue the update; gradients must have been zeroed."""
        if self._scaler is None:
            loss.backward()
            self._optimizer.step()
            return
        self._scaler.scale(loss).backward()
        self._scaler.step(self._optimizer)  # divides by the scale, then clips
        self._scaler.update()
