"""The workload's update rule as PaddlePaddle's own optimizer, with clipping and loss scaling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import paddle
from paddle import nn
from paddle.regularizer import L2Decay

from mbench_paddle.layers import held

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.workloads.workload import Optimizer, Workload
    from mbench_paddle.precision import Precision

    Gradients = list[tuple[paddle.Tensor, paddle.Tensor | None]]

__all__ = ["Update"]

CLIP_EPSILON = 1e-6  # of the documented clipping, see mbench.workloads.workload.Optimizer


class ClipGradByGlobalNorm(nn.ClipGradByGlobalNorm):
    """paddle.nn's own with the documented factor: min(1, clip_norm / (norm + 1e-6)).

    The native factor is clip_norm / max(norm, clip_norm), which differs by 1e-6 / norm.
    """

    @paddle.no_grad()
    def _dygraph_clip(self, params_grads: Gradients) -> Gradients:
        gradients = [gradient for _, gradient in params_grads if gradient is not None]
        squares = [paddle._C_ops.squared_l2_norm(widened(gradient)) for gradient in gradients]
        norm = paddle.stack(squares).sum().sqrt()
        factor = paddle.clip(self.clip_norm / (norm + CLIP_EPSILON), max=1.0)
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


class Update:
    """Backward pass, clipping and parameter update of one loss.

    `parameters` are the trainable ones by canonical name.
    """

    def __init__(
        self, workload: Workload, parameters: Mapping[str, paddle.Tensor], precision: Precision
    ) -> None:
        self._workload = workload
        self._parameters = parameters
        self._precision = precision
        self.reset()
        self.differences = [f"{type(self._optimizer).__name__} updates one parameter after another"]
        if workload.optimizer.clip_norm is not None:
            self.differences.append(
                "clipping divides by norm + 1e-6 as documented, not by max(norm, clip_norm)"
            )

    def reset(self) -> None:
        """Forget moments, step counts, gradients and the loss scale."""
        self._optimizer = build(self._workload, self._parameters)
        self.zero_gradients()
        self._scaler = self._precision.scaler()

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


def build(
    workload: Workload, parameters: Mapping[str, paddle.Tensor]
) -> paddle.optimizer.Optimizer:
    """The native optimizer of `workload.optimizer`.

    Raises ValueError for a rule that it does not know.
    """
    spec: Optimizer = workload.optimizer
    spared = {tensor.name for tensor in workload.tensors() if not tensor.decay}
    clip = None if spec.clip_norm is None else ClipGradByGlobalNorm(spec.clip_norm)
    if spec.rule == "sgd":
        for name, parameter in parameters.items():
            # A parameter's own regularizer is fused into its update; 0 leaves it out.
            parameter.regularizer = L2Decay(0.0 if name in spared else spec.weight_decay)
        return Momentum(
            spec.learning_rate,
            momentum=spec.momentum,
            parameters=list(parameters.values()),
            grad_clip=clip,
        )
    if spec.rule == "adamw":
        decayed = {p.name for name, p in parameters.items() if name not in spared}
        return paddle.optimizer.AdamW(
            spec.learning_rate,
            beta1=spec.betas[0],
            beta2=spec.betas[1],
            epsilon=spec.epsilon,
            parameters=list(parameters.values()),
            weight_decay=spec.weight_decay,
            apply_decay_param_fun=decayed.__contains__,
            grad_clip=clip,
        )
    raise ValueError(f"there is no optimizer {spec.rule!r}: sgd and adamw are")


def widened(tensor: paddle.Tensor) -> paddle.Tensor:
    return tensor.astype("float32") if tensor.dtype in (paddle.float16, paddle.bfloat16) else tensor
