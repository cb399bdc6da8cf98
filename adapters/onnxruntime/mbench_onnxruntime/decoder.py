"""Decoders with a cache of keys and values.

Shapes: B batch, L sequence, H heads of keys and values, W width of a head, T positions of a cache,
V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.sdk.networks.llama import mlp, scores, states

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.sdk.networks.llama import MLP
    from mbench_onnxruntime.layers import Net, Value

__all__ = ["behind", "in_place"]


def behind(net: Net, size: int, *, mlp: MLP[Value] = mlp) -> None:
    """Build a graph that appends tokens (B, L) at `positions` (L,) to a cache, each layer's
    (B, H, T, W), which may be empty. It returns the last position's logits (B, 1, V), and the cache
    with the tokens. `mlp` is that of a layer.
    """
    positions = net.input("positions", (-1,), "int64")
    turns = [net.rows(net.constant(table), positions) for table in net.config.rotations()]
    built(net, size, -1, turns, mlp=mlp)


def in_place(net: Net, size: int, *, mlp: MLP[Value] = mlp) -> None:
    """Like `behind`, but the cache has room for T tokens. After a run, the first `total` () are
    filled; `last` (B,) is the position of each sequence's last token.
    """
    last, total = net.input("last", (size,), "int32"), net.input("total", (), "int32")
    tables = [net.constant(table) for table in net.config.rotations()]
    built(net, size, net.config.sequence_length, (), [last, total, *tables], mlp=mlp)


def built(
    net: Net,
    size: int,
    room: int,
    turns: Sequence[Value],
    beside: Sequence[Value] = (),
    *,
    mlp: MLP[Value],
) -> None:
    config = net.config
    present: dict[str, Value] = {}
    tokens = net.input("input_ids", (size, -1), "int64")

    def attend(layer: int, query: Value, key: Value, value: Value) -> Value:
        names = [f"{layer}.{leaf}" for leaf in ("key", "value")]
        shape = (size, config.key_value_heads, room, config.width)
        past = [net.input(f"past.{name}", shape, net.kind) for name in names]
        if beside:
            found, *new = net.attention_in_place(query, key, value, [*past, *beside])
        else:
            found, *new = net.attention_behind(query, key, value, past)
        present.update(zip((f"present.{name}" for name in names), new, strict=True))
        return found

    x = states(net, tokens, turns, attend, mlp)
    net.give({"logits": scores(net, net.last_positions(x, 1)), **present})
