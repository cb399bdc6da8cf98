"""VGG, with and without batch norm: paddle.vision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle.vision.models.vgg import VGG, make_layers

from mbench_paddle.images import forward, loss
from mbench_paddle.layers import with_dropout, with_exact_norms

if TYPE_CHECKING:
    from paddle import nn

    from mbench.workloads.vgg import VGGConfig

__all__ = ["build", "forward", "loss"]


def build(config: VGGConfig) -> nn.Layer:
    layout: list[int | str] = []
    for blocks, width in zip(config.blocks, config.widths, strict=True):
        layout += [*[width] * blocks, "M"]  # M: max pooling
    model = VGG(make_layers(layout, batch_norm=config.batch_norm), num_classes=config.classes)
    return with_dropout(with_exact_norms(model, config), config.dropout)
