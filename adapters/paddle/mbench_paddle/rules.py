"""Update rules and clipping: PaddlePaddle's own, made exact where they are not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import paddle
from paddle import nn

from mbench.sdk.optimizer import clip_factor
from mbench_paddle.layers import held
from mbench_paddle.precision import wide

if TYPE_CHECKING:
    Gradients = list[tuple[paddle.Tensor, paddle.Tensor | None]]

__all__ = ["RULES", "ClipGradByGlobalNorm"]


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
    """PaddlePaddle's own; in float64, it makes up for what its kernel loses of its constants.

    The kernel takes momentum and weight decay as float32, so 0.9 is off by 2.6e-8.
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


class AdamW(paddle.optimizer.AdamW):
    """PaddlePaddle's own; in float64, it makes up for what its kernel loses of its constants.

    The kernel takes weight decay as float32, so 0.01 is off by 2.2e-10.
    """

    def _append_optimize_op(
        self, block: object, param_and_grad: tuple[paddle.Tensor, paddle.Tensor]
    ) -> object:
        parameter, _ = param_and_grad
        if parameter.dtype == paddle.float64 and self._apply_decay_param_fun(parameter.name):
            rate, decay = self.get_lr(), self._weight_decay
            parameter.scale_((1 - rate * decay) / (1 - rate * held(decay)))
        return super()._append_optimize_op(block, param_and_grad)


RULES: dict[str, Any] = {"sgd": Momentum, "adamw": AdamW}
