"""Networks with parallel branches, as `mbench.workloads.branches` defines them.

Shapes: B batch, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.workloads.branches import Conv, Head, Pool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mbench.sdk.networks.net import Array, Net
    from mbench.workloads.branches import Mixed

__all__ = ["classified", "through"]


def classified(
    net: Net[Array], images: Array, head: Callable[[Net[Array], Head, Array], Array]
) -> dict[str, Array]:
    """images -> logits (B, K); in training, also those of auxiliary heads."""
    config, x, outputs = net.config, images, {}
    for part in config.parts():
        if not isinstance(part, Head):
            x = through(net, "", [part], x)
        elif net.heads:
            logits = head(net, part, x)
            if net.training:
                outputs[part.output] = logits
    x = net.dropout(net.pixels(x), config.dropout)
    return {"logits": net.linear("fc", x, config.classes), **outputs}


def through(net: Net[Array], at: str, parts: Iterable[Conv | Pool | Mixed], x: Array) -> Array:
    """One part after another; `at` is the prefix of their names."""
    for part in parts:
        if isinstance(part, Conv):
            name = f"{at}{part.name}"
            x = net.conv(
                f"{name}.conv", x, part.outputs, part.kernel,
                stride=part.stride, padding=part.padding,
            )  # fmt: skip
            x = net.relu(net.norm(f"{name}.bn", x))
        elif isinstance(part, Pool):
            x = pooled(net, part, x)
        else:
            x = mixed(net, part, x)
    return x


def pooled(net: Net[Array], pool: Pool, x: Array) -> Array:
    if pool.mean:
        return net.mean_pool(x, pool.size, stride=pool.stride, padding=pool.padding)
    return net.max_pool(
        x, pool.size, stride=pool.stride, padding=pool.padding, ceil=pool.ceil
    )  # fmt: skip


def mixed(net: Net[Array], module: Mixed, x: Array) -> Array:
    at, found = f"{module.name}.", []
    for branch in module.branches:
        y = through(net, at, branch.row, x)
        found += [through(net, at, [end], y) for end in branch.ends] or [y]
    return net.joined(*found)
