"""The update of a step: clipping, and one of Optax's rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import optax

from mbench.sdk.optimizer import UpdateBase, clip_factor, decays, find_rule
from mbench_jax.precision import wide

if TYPE_CHECKING:
    from mbench.contract.workload import Optimizer

__all__ = ["Update"]


class Update(UpdateBase):
    """A function of gradients, state and parameters; `state` is the one after the last step."""

    def build(self) -> None:
        # Parameters are replaced at each step, so only shapes and types are kept.
        self.parameters = jax.eval_shape(lambda arrays: arrays, self.parameters)
        rule = find_rule(self.workload, RULES)
        decaying = {
            name: decay > 0 for name, decay in decays(self.workload, self.parameters).items()
        }
        rate = by_rate(self.spec.learning_rate)
        self.chain = optax.chain(clip(self.spec.clip_norm), rule(self.spec, decaying), rate)

    def reset(self) -> None:
        self.state = self.chain.init(self.parameters)

    def set_learning_rate(self, rate: float) -> None:
        self.state = (*self.state[:-1], jnp.array(rate, self.state[-1].dtype))

    def __call__(self, gradients: Any, state: Any, parameters: Any) -> tuple[Any, Any]:
        """New parameters and state. Half precision is only for storing them: they are computed in
        float32, since bfloat16 cannot represent 0.999.
        """
        known = wide(parameters)
        changes, new = self.chain.update(wide(gradients), wide(state), known)
        found = optax.apply_updates(known, changes), new
        return jax.tree.map(lambda x, old: x.astype(old.dtype), found, (parameters, state))


def clip(norm: float | None) -> optax.GradientTransformation:
    """Clipping as documented; Optax's own adds no epsilon to the norm."""
    if norm is None:
        return optax.identity()

    def clipped(gradients: Any, _: Any) -> Any:
        factor = jnp.minimum(1, clip_factor(norm, optax.tree.norm(gradients)))
        return jax.tree.map(lambda gradient: gradient * factor, gradients)

    return optax.stateless(clipped)


def by_rate(first: float) -> optax.GradientTransformation:
    """The last part of optax.sgd and optax.adamw. There the rate is compiled in. Here it is state,
    in float32 or float64, and `first` is only its initial value.
    """

    def init(_: Any) -> Any:
        return jnp.array(first, jnp.result_type(float))  # no weak type: one compilation

    def update(changes: Any, rate: Any, _: Any = None) -> tuple[Any, Any]:
        return jax.tree.map(lambda change: -rate * change, changes), rate

    return optax.GradientTransformation(init, update)


def sgd(spec: Optimizer, decaying: dict[str, bool]) -> optax.GradientTransformation:
    """optax.sgd without its rate."""
    decay = optax.add_decayed_weights(spec.weight_decay, decaying)
    return optax.chain(decay, optax.trace(spec.momentum)) if spec.momentum else decay


def adamw(spec: Optimizer, decaying: dict[str, bool]) -> optax.GradientTransformation:
    """optax.adamw without its rate."""
    moments = optax.scale_by_adam(*spec.betas, eps=spec.epsilon)
    return optax.chain(moments, optax.add_decayed_weights(spec.weight_decay, decaying))


RULES = {"sgd": sgd, "adamw": adamw}
