"""Decoders with a cache of keys and values.

Shapes: B batch, L sequence, H heads of keys and values, W width of a head, T positions of a cache,
V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.sdk.networks.llama import mlp, scores, states
from mbench_openvino.layers import Type

if TYPE_CHECKING:
    from mbench.sdk.networks.llama import MLP
    from mbench_openvino.layers import Net, Value

__all__ = ["behind"]


def behind(net: Net, size: int, *, mlp: MLP[Value] = mlp) -> None:
    """Build a graph that appends tokens (B, L) at `positions` (L,) to its states, each layer's
    keys and values (B, H, T, W), in the order of `beam_idx` (B,). It returns the last position's
    logits (B, 1, V). `mlp` is that of a layer.
    """
    config = net.config
    tokens, positions = (
        net.input(name, shape, Type.i64)
        for name, shape in (("input_ids", (size, -1)), ("positions", (-1,)))
    )
    order = net.input("beam_idx", (size,), Type.i32)
    turns = [net.rows(net.constant(table), positions) for table in config.rotations()]
    mask = net.mask(positions)
    present: dict[str, Value] = {}

    def attend(layer: int, query: Value, key: Value, value: Value) -> Value:
        names = [f"{layer}.{leaf}" for leaf in ("key", "value")]
        shape = (size, config.key_value_heads, -1, config.width)
        past = [net.input(f"past.{name}", shape, net.kind) for name in names]
        found, *new = net.attention_behind(query, key, value, past, order, mask)
        present.update(zip((f"present.{name}" for name in names), new, strict=True))
        net.states.update({f"past.{name}": f"present.{name}" for name in names})
        return found

    x = states(net, tokens, turns, attend, mlp)
    net.give({"logits": scores(net, net.last_positions(x, 1)), **present})
