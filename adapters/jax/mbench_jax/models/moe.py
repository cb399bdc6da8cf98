"""A mixture of experts as a causal language model; names as in transformers' MixtralForCausalLM.

Shapes: B batch, L sequence, T tokens, D hidden, E experts, K of them chosen for a token, F width
of an expert.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from mbench.sdk.networks import llama
from mbench_jax.images import build, loss
from mbench_jax.layers import UNFUSED_ATTENTION, Array
from mbench_jax.precision import wide

__all__ = ["DIFFERENCES", "advance", "build", "forward", "loss", "prefill"]

DIFFERENCES = (
    UNFUSED_ATTENTION,
    "rotations come from a table in place of sines in each step",
    "each expert computes all tokens, and counts for those that chose it: a compiled step has no "
    "sizes that depend on data; of fewer choices than experts, by the gathered weights",
)


def mixture(net: Any, at: str, x: Array) -> Array:
    """(B, L, D) -> (B, L, D): each token's experts, chosen by a router."""
    config, hidden = net.config, x.shape[-1]
    tokens = x.reshape(-1, hidden)
    weights, numbers = chosen(net.projected(f"{at}.gate", tokens, config.experts), config.chosen)
    shape = (config.experts, hidden, 2 * config.intermediate)  # (in, out) here
    first = net.tensor(f"{at}.experts.gate_up_proj", shape, (0, 2, 1))
    shape = (config.experts, config.intermediate, hidden)
    last = net.tensor(f"{at}.experts.down_proj", shape, (0, 2, 1))
    tokens, weights, first, last = net.cast(tokens, weights, first, last)
    apply = gathered if numbers.size < config.experts else everywhere
    return apply(tokens, weights, numbers, first, last).reshape(x.shape)


def chosen(scores: Array, count: int) -> tuple[Array, Array]:
    """(T, E) -> weights, which sum to 1, and numbers of the experts (T, K); of equal ones, the
    first. Weights are float32, or float64 if the scores are.
    """
    chances, numbers = lax.top_k(jax.nn.softmax(wide(scores)), count)
    return chances / chances.sum(-1, keepdims=True), numbers


def everywhere(x: Array, weights: Array, numbers: Array, first: Array, last: Array) -> Array:
    """(T, D), twice (T, K), (E, D, 2 F), (E, F, D) -> (T, D)."""
    choices = jax.nn.one_hot(numbers, len(first), dtype=weights.dtype)  # (T, K, E)
    shares = (weights[..., None] * choices).sum(1)
    inner = swiglu(jnp.einsum("td,edf->etf", x, first)) * shares.T[..., None]
    return jnp.einsum("etf,efd->td", inner, last)


def gathered(x: Array, weights: Array, numbers: Array, first: Array, last: Array) -> Array:
    """Like `everywhere`, but only by each token's own experts."""
    inner = swiglu(jnp.einsum("td,tkdf->tkf", x, first[numbers]))
    return jnp.einsum("tkf,tkfd->td", inner * weights[..., None], last[numbers])


def swiglu(x: Array) -> Array:
    """(..., 2 F) -> (..., F)."""
    gate, up = jnp.split(x, 2, axis=-1)
    return jax.nn.silu(gate) * up


forward = partial(llama.forward, mlp=mixture)
prefill = partial(llama.prefill, mlp=mixture)
advance = partial(llama.advance, mlp=mixture)
