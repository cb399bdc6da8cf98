"""MobileNetV2: paddle.vision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle.vision.models.mobilenetv2 import MobileNetV2

from mbench.workloads.mobilenet import MobileNetConfig
from mbench_paddle.images import forward, loss
from mbench_paddle.layers import with_dropout, with_exact_norms

if TYPE_CHECKING:
    from paddle import nn

__all__ = ["build", "forward", "loss"]


def build(config: MobileNetConfig) -> nn.Layer:
    """Raises ValueError for dimensions other than paddle.vision's, which are fixed."""
    fixed = MobileNetConfig()
    if (config.stem, config.stacks, config.last) != (fixed.stem, fixed.stacks, fixed.last):
        raise ValueError(f"paddle.vision's MobileNetV2 does not support these dimensions: {config}")
    model = with_exact_norms(MobileNetV2(num_classes=config.classes), config)
    return with_dropout(model, config.dropout)
