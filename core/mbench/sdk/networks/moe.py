"""A mixture of experts as a causal language model; names as in transformers' MixtralForCausalLM.

Each expert computes only the tokens routed to it. Shapes: B batch, L sequence, T = B L
tokens, D hidden, E experts, K of them chosen for a token, F width of an expert, n rows.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from mbench.contract.compat import zipped
from mbench.sdk.networks import llama
from mbench.sdk.networks.net import Array, Net

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MixtureNet", "chosen", "forward", "mixture"]


class MixtureNet(Net[Array]):
    """A network whose tokens take different paths."""

    def lengths(self, x: Array) -> Sequence[int]:
        """The shape of `x`; -1 stands for a length that varies from run to run."""
        raise NotImplementedError

    def softmax(self, x: Array) -> Array:
        """Over the last axis."""
        raise NotImplementedError

    def largest(self, x: Array, count: int) -> Sequence[Array]:
        """(T, E) -> the largest values and their numbers (T, K); the first of equal ones."""
        raise NotImplementedError

    def shares(self, x: Array) -> Array:
        """(T, K) divided by the sum of each row."""
        raise NotImplementedError

    def places(self, numbers: Array, number: int) -> Array:
        """(T K) -> (n): the positions of that number."""
        raise NotImplementedError

    def quotients(self, x: Array, divisor: int) -> Array:
        """Quotients, rounded down."""
        raise NotImplementedError

    def matrices(self, name: str, shape: Sequence[int]) -> Sequence[Array]:
        """The matrices of a tensor (E, out, in), in the form for `by_matrix`."""
        raise NotImplementedError

    def by_matrix(self, x: Array, matrix: Array, outputs: int) -> Array:
        """(n, in) -> (n, out)."""
        raise NotImplementedError

    def parts(self, x: Array, count: int) -> Sequence[Array]:
        """The last axis split into `count` equal parts."""
        raise NotImplementedError

    def ordered(self, rows: Sequence[Array], places: Sequence[Array]) -> Array:
        """(n, D) and (n) from each expert -> (T K, D): each row in its place."""
        raise NotImplementedError

    def summed(self, x: Array) -> Array:
        """(T, K, D) -> (T, D)."""
        raise NotImplementedError


def mixture(net: Any, at: str, x: Array) -> Array:
    """(B, L, D) -> (B, L, D): the weighted sum of each token's experts, which a router chooses.
    `net` is a MixtureNet, though an MLP of Llama takes any Net.
    """
    config = net.config
    experts, hidden, width = config.experts, config.hidden, config.intermediate
    tokens = net.reshaped(x, -1, hidden)
    weights, numbers = chosen(net, net.projected(f"{at}.gate", tokens, experts), config.chosen)
    numbers = net.reshaped(numbers, -1)
    places = [net.places(numbers, expert) for expert in range(experts)]
    firsts = net.matrices(f"{at}.experts.gate_up_proj", (experts, 2 * width, hidden))
    lasts = net.matrices(f"{at}.experts.down_proj", (experts, hidden, width))
    rows = []
    for own, first, last in zipped(places, firsts, lasts):
        y = net.rows(tokens, net.quotients(own, config.chosen))
        gate, up = net.parts(net.by_matrix(y, first, 2 * width), 2)
        rows.append(net.by_matrix(net.product(net.silu(gate), up), last, hidden))
    mixed = net.reshaped(net.ordered(rows, places), -1, config.chosen, hidden)
    mixed = net.summed(net.product(mixed, net.reshaped(weights, -1, config.chosen, 1)))
    found: Array = net.reshaped(mixed, *net.lengths(x))
    return found


def chosen(net: MixtureNet[Array], scores: Array, count: int) -> tuple[Array, Array]:
    """(T, E) -> weights that add up to 1, and numbers of the experts (T, K)."""
    chances, numbers = net.largest(net.softmax(scores), count)
    return net.shares(chances), numbers


forward = partial(llama.forward, mlp=mixture)
