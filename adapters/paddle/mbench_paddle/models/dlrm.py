"""Recommenders in paddle.nn; names as in facebookresearch/dlrm, the cross network's as in torchrec.

Shapes: B batch, C continuous features, N category numbers, F interacting features, D width, S input
width of the cross network, R its rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import paddle
from paddle import nn
from paddle.nn import functional as F

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.workloads.dlrm import DlrmConfig

    Tensors = Mapping[str, paddle.Tensor]

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = (
    "tables are nn.Embedding with its dense gradients, whose rows are summed: each step updates "
    "all rows",
)


class Dlrm(nn.Layer):
    def __init__(self, config: DlrmConfig) -> None:
        super().__init__()
        self.bags = list(config.bags)
        self.features = config.features
        self.emb_l = nn.LayerList([nn.Embedding(rows, config.width) for rows in config.table_rows])
        self.bot_l = mlp(config.continuous, config.bottom)
        self.top_l = mlp(config.interactions, config.top)
        self.crosses = config.cross_layers > 0
        if self.crosses:
            self.crossnet = CrossNet(config)
        else:
            places = [one * config.features + other for one, other in config.pairs]
            self.register_buffer("places", paddle.to_tensor(places), persistable=False)

    def forward(self, continuous: paddle.Tensor, categories: paddle.Tensor) -> paddle.Tensor:
        """(B, C), (B, N) -> (B)."""
        x = F.relu(self.bot_l(continuous))
        bags = paddle.split(categories, self.bags, axis=1)
        rows = [table(bags[at]).sum(1) for at, table in enumerate(self.emb_l)]
        features = paddle.stack([x, *rows], axis=1)  # (B, F, D)
        if self.crosses:
            mixed = self.crossnet(features.flatten(1))
        else:
            products = paddle.matmul(features, features, transpose_y=True)
            pairs = paddle.index_select(products.flatten(1), self.places, axis=1)
            mixed = paddle.concat([x, pairs], axis=1)
        return self.top_l(mixed).squeeze(1)


class CrossNet(nn.Layer):
    def __init__(self, config: DlrmConfig) -> None:
        super().__init__()
        self.layers = config.cross_layers
        size, rank = config.interactions, config.rank

        def made(shape: Sequence[int]) -> nn.ParameterList:
            each = range(config.cross_layers)
            return nn.ParameterList([self.create_parameter(shape) for _ in each])

        self.V_kernels, self.W_kernels = made([rank, size]), made([size, rank])
        self.bias = made([size])

    def forward(self, start: paddle.Tensor) -> paddle.Tensor:
        """(B, S) -> (B, S)."""
        x = start
        for layer in range(self.layers):  # to_static does not know zip's `strict`
            inner = paddle.matmul(x, self.V_kernels[layer], transpose_y=True)
            inner = paddle.matmul(inner, self.W_kernels[layer], transpose_y=True)
            x = start * (inner + self.bias[layer]) + x
        return x


def mlp(inputs: int, outputs: Sequence[int]) -> nn.Sequential:
    """Linear layers with a ReLU between each two."""
    layers: list[nn.Layer] = []
    for at, size in enumerate(outputs):
        layers += [*([nn.ReLU()] if at else []), nn.Linear(inputs, size)]
        inputs = size
    return nn.Sequential(*layers)


def build(config: DlrmConfig) -> nn.Layer:
    return Dlrm(config)


def forward(model: nn.Layer, batch: Tensors) -> dict[str, paddle.Tensor]:
    """continuous (B, C), categories (B, N) -> logits (B)."""
    return {"logits": model(batch["continuous"], batch["categories"])}


def loss(outputs: Tensors, batch: Tensors) -> paddle.Tensor:
    logits = outputs["logits"]
    return F.binary_cross_entropy_with_logits(logits, batch["labels"].astype(logits.dtype))
