"""Update rules and clipping: mindspore.nn's own where they match the documented ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops

from mbench.sdk.optimizer import clip_factor
from mbench_mindspore.layers import exact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindspore import ParameterTuple

    from mbench.contract.workload import Optimizer

__all__ = ["EXACT", "RULES", "Clipped"]


def zeroed(tensors: Sequence[Parameter]) -> None:
    for tensor in tensors:
        kind = np.float64 if tensor.dtype == ms.float64 else np.float32
        tensor.set_data(Tensor(np.zeros(tensor.shape, kind)))


class Momentum(nn.Momentum):
    """mindspore.nn's own, whose rule is the documented one."""

    DIFFERENCES = ("nn.Momentum updates one parameter after another, by a fused kernel each",)

    def __init__(self, order: ParameterTuple, spec: Optimizer, decays: Sequence[float]) -> None:
        super().__init__(grouped(order, decays), spec.learning_rate, float(spec.momentum))

    def restart(self) -> None:
        zeroed(self.moments)


def grouped(order: ParameterTuple, decays: Sequence[float]) -> list[Any]:
    """Parameters grouped by their weight decay; the optimizer keeps their order."""
    found = []
    for decay in sorted(set(decays)):
        members = [p for p, own in zip(order, decays, strict=True) if own == decay]
        found.append({"params": members, "weight_decay": float(decay)})
    return [*found, {"order_params": list(order)}]


class AdamW(nn.Cell):
    """The fused kernel of nn.Adam, after the weight decay.

    nn.AdamWeightDecay does not correct bias. Adam's kernel divides by sqrt(v) + epsilon, with the
    rate times sqrt(1 - beta2^t), so the epsilon passed to it has that factor, too.
    """

    DIFFERENCES = (
        "AdamW is the fused kernel of nn.Adam after a decay: nn.AdamWeightDecay does not correct "
        "the moments' bias",
    )

    def __init__(self, order: ParameterTuple, spec: Optimizer, decays: Sequence[float]) -> None:
        super().__init__()
        self.order = order
        self.first = order.clone(prefix="first", init="zeros")
        self.second = order.clone(prefix="second", init="zeros")
        self.powers = Parameter(Tensor(np.ones(2), ms.float32), name="powers", requires_grad=False)
        self.betas = Tensor(np.array(spec.betas), ms.float32)
        self.epsilon = spec.epsilon
        self.beta1, self.beta2 = (Tensor(beta, ms.float32) for beta in spec.betas)
        self.lr = Tensor(spec.learning_rate, ms.float32)
        self.shrinks = tuple(1 - spec.learning_rate * decay for decay in decays)
        self.adam = ops.Adam()

    def construct(self, gradients: tuple[Tensor, ...]) -> Tensor:
        powers = self.powers * self.betas
        ops.assign(self.powers, powers)
        first, second = powers[0], powers[1]
        epsilon = self.epsilon * ops.sqrt(1 - second)
        for i in range(len(self.order)):
            own = self.order[i]
            if self.shrinks[i] != 1:
                ops.assign(own, own * self.shrinks[i])
            self.adam(own, self.first[i], self.second[i], first, second, self.lr, self.beta1,
                      self.beta2, epsilon, gradients[i])  # fmt: skip
        return first

    def restart(self) -> None:
        zeroed(self.first)
        zeroed(self.second)
        self.powers.set_data(Tensor(np.ones(2), ms.float32))


class ExactSGD(nn.Cell):
    """SGD in float64, composed of operations: the kernels hold constants in float32."""

    DIFFERENCES = ("the optimizer is composed in float64: kernels hold their constants in float32",)

    def __init__(self, order: ParameterTuple, spec: Optimizer, decays: Sequence[float]) -> None:
        super().__init__()
        self.order, self.decays = order, tuple(exact(decay) for decay in decays)
        self.rate, self.momentum = exact(spec.learning_rate), exact(spec.momentum)
        self.moments = order.clone(prefix="moments", init="zeros")

    def construct(self, gradients: tuple[Tensor, ...]) -> Tensor:
        for i in range(len(self.order)):
            own = self.order[i]
            new = self.moments[i] * self.momentum + (gradients[i] + own * self.decays[i])
            ops.assign(self.moments[i], new)
            ops.assign(own, own - new * self.rate)
        return gradients[0]

    def restart(self) -> None:
        zeroed(self.moments)


class ExactAdamW(nn.Cell):
    """AdamW in float64, composed for the same reason."""

    DIFFERENCES = ExactSGD.DIFFERENCES

    def __init__(self, order: ParameterTuple, spec: Optimizer, decays: Sequence[float]) -> None:
        super().__init__()
        self.order = order
        self.keeps = tuple(exact(1 - spec.learning_rate * decay) for decay in decays)
        self.rate, self.epsilon = exact(spec.learning_rate), exact(spec.epsilon)
        (self.beta1, self.new1), (self.beta2, self.new2) = (
            (exact(beta), exact(1 - beta)) for beta in spec.betas
        )
        self.first = order.clone(prefix="first", init="zeros")
        self.second = order.clone(prefix="second", init="zeros")
        self.powers = Parameter(Tensor(np.ones(2), ms.float64), name="powers", requires_grad=False)
        self.betas = Tensor(np.array(spec.betas), ms.float64)

    def construct(self, gradients: tuple[Tensor, ...]) -> Tensor:
        powers = self.powers * self.betas
        ops.assign(self.powers, powers)
        for i in range(len(self.order)):
            own, gradient = self.order[i], gradients[i]
            first = self.first[i] * self.beta1 + gradient * self.new1
            second = self.second[i] * self.beta2 + gradient * gradient * self.new2
            ops.assign(self.first[i], first)
            ops.assign(self.second[i], second)
            step = first / (1 - powers[0]) / (ops.sqrt(second / (1 - powers[1])) + self.epsilon)
            ops.assign(own, own * self.keeps[i] - step * self.rate)
        return powers[0]

    def restart(self) -> None:
        zeroed(self.first)
        zeroed(self.second)
        self.powers.set_data(Tensor(np.ones(2), ms.float64))


class Clipped(nn.Cell):
    """Clips gradients as documented, then applies a rule to them."""

    def __init__(self, rule: nn.Cell, clip_norm: float | None) -> None:
        super().__init__()
        self.rule, self.clip_norm = rule, clip_norm

    def construct(self, gradients: tuple[Tensor, ...]) -> Tensor:
        if self.clip_norm is not None:
            squares = [(gradient * gradient).sum() for gradient in gradients]
            found = ops.sqrt(ops.stack(squares).sum())
            factor = ops.minimum(clip_factor(self.clip_norm, found), ops.ones_like(found))
            clipped: tuple[Tensor, ...] = ()  # not a list: nn.Momentum takes only tuples
            for gradient in gradients:
                clipped = clipped + (gradient * factor,)  # noqa: RUF005 (a graph does not unpack)
            return self.rule(clipped)
        return self.rule(gradients)


RULES: dict[str, Any] = {"sgd": Momentum, "adamw": AdamW}
EXACT: dict[str, Any] = {"sgd": ExactSGD, "adamw": ExactAdamW}
