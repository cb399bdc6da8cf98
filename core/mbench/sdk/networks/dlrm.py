"""Recommenders; names as in facebookresearch/dlrm, for the cross network as in torchrec.

Shapes: B batch, C continuous features, N category numbers, n of them in a bag, F interacting
features, D width, S input width of the cross network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.compat import zipped
from mbench.sdk.networks.net import Array, Net

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["InteractionNet", "forward"]


class InteractionNet(Net[Array]):
    """A network that sums rows of tables and lets features interact."""

    def divided(self, x: Array, counts: Sequence[int]) -> Sequence[Array]:
        """(B, N) -> (B, n) for each n of `counts`."""
        raise NotImplementedError

    def bag(self, table: Array, ids: Array) -> Array:
        """(B, n) -> (B, D): the sums of the rows of `table` with these numbers."""
        raise NotImplementedError

    def squared(self, x: Array) -> Array:
        """(B, F, D) -> (B, F, F): dot products of all pairs of vectors."""
        raise NotImplementedError

    def columns(self, x: Array, numbers: Sequence[int]) -> Array:
        """The columns of (B, S) with these numbers."""
        raise NotImplementedError

    def multiplied(self, weight: str, x: Array, outputs: int) -> Array:
        """Like `projected`, with the tensor (out, in) of this name."""
        raise NotImplementedError


def forward(net: InteractionNet[Array], batch: Mapping[str, Array]) -> dict[str, Array]:
    """continuous (B, C), categories (B, N) -> logits (B)."""
    config, continuous = net.config, batch["continuous"]
    size, features = continuous.shape[0], config.features
    x = net.relu(mlp(net, "bot_l", continuous, config.bottom))
    bags = net.divided(batch["categories"], config.bags)
    sums = [
        net.bag(net.embedding(f"emb_l.{at}", rows, config.width), ids)
        for at, (rows, ids) in enumerate(zipped(config.table_rows, bags))
    ]
    vectors = net.joined(x, *sums)  # (B, F D)
    if config.cross_layers:
        mixed = crossed(net, vectors)
    else:
        products = net.squared(net.reshaped(vectors, size, features, config.width))
        products = net.reshaped(products, size, features * features)
        places = [one * features + other for one, other in config.pairs]
        mixed = net.joined(x, net.columns(products, places))
    return {"logits": net.reshaped(mlp(net, "top_l", mixed, config.top), size)}


def mlp(net: InteractionNet[Array], name: str, x: Array, outputs: Sequence[int]) -> Array:
    """Linear layers with a ReLU between each two."""
    for at, size in enumerate(outputs):
        x = net.linear(f"{name}.{2 * at}", net.relu(x) if at else x, size)
    return x


def crossed(net: InteractionNet[Array], start: Array) -> Array:
    """(B, S) -> (B, S)."""
    config, x = net.config, start
    for layer in range(config.cross_layers):
        narrow = net.multiplied(f"crossnet.V_kernels.{layer}", x, config.rank)
        wide = net.multiplied(f"crossnet.W_kernels.{layer}", narrow, config.interactions)
        x = net.sum(net.product(start, net.biased(wide, f"crossnet.bias.{layer}")), x)
    return x
