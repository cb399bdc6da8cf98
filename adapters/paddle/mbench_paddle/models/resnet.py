"""ResNet, including wide and grouped ones: paddle.vision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddle.vision.models.resnet import BasicBlock, BottleneckBlock, ResNet

from mbench_paddle.images import forward, loss
from mbench_paddle.layers import with_exact_norms

if TYPE_CHECKING:
    from paddle import nn

    from mbench.workloads.resnet import ResNetConfig

__all__ = ["build", "forward", "loss"]

WIDTHS = (64, 128, 256, 512)
DEPTH = 50
"""One that paddle.vision knows; its blocks are not used."""


class BottleneckV1(BottleneckBlock):
    """The paper's, with the stride in its first convolution."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.conv1._stride, self.conv2._stride = self.conv2._stride, self.conv1._stride


def build(config: ResNetConfig) -> nn.Layer:
    """Raises ValueError for widths other than paddle.vision's, which are fixed."""
    if (config.widths, config.stem) != (WIDTHS, 64):
        raise ValueError(f"paddle.vision's ResNet does not support these widths: {config}")
    if not config.bottleneck:
        block = BasicBlock
    else:
        block = BottleneckV1 if config.stride_first else BottleneckBlock

    class AsDeep(ResNet):
        """A ResNet with any number of blocks per stage; paddle.vision knows only five depths."""

        def _make_layer(self, block: Any, planes: int, blocks: int, **more: Any) -> Any:
            wanted = config.blocks[WIDTHS.index(planes)]
            return super()._make_layer(block, planes, wanted, **more)

    model = AsDeep(
        block,
        DEPTH,
        width=config.group_width,
        num_classes=config.classes,
        groups=config.groups,
    )
    return with_exact_norms(model, config)
