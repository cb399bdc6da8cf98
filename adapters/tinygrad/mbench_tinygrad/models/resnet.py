"""ResNet in tinygrad.nn; names as in torchvision's. Shapes: B batch, C channels, K classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tinygrad import Tensor, nn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.workloads.resnet import ResNetConfig


def conv(inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> nn.Conv2d:
    padding = kernel // 2
    return nn.Conv2d(inputs, outputs, kernel, stride, padding, groups=groups, bias=False)


class Block:
    """Two 3x3 convolutions, or 1x1, 3x3 and 1x1, with their batch norms and shortcut."""

    def __init__(self, config: ResNetConfig, inputs: int, width: int, stride: int) -> None:
        outputs = width * config.expansion
        self.deep = config.bottleneck
        if self.deep:
            inner = config.inner(width)
            first, second = (stride, 1) if config.stride_first else (1, stride)
            self.conv1, self.bn1 = conv(inputs, inner, 1, first), nn.BatchNorm(inner)
            self.conv2 = conv(inner, inner, 3, second, config.groups)
            self.bn2 = nn.BatchNorm(inner)
            self.conv3, self.bn3 = conv(inner, outputs, 1), nn.BatchNorm(outputs)
        else:
            self.conv1, self.bn1 = conv(inputs, width, 3, stride), nn.BatchNorm(width)
            self.conv2, self.bn2 = conv(width, width, 3), nn.BatchNorm(width)
        if stride > 1 or inputs != outputs:
            self.downsample = [conv(inputs, outputs, 1, stride), nn.BatchNorm(outputs)]

    def __call__(self, x: Tensor) -> Tensor:
        y = self.bn2(self.conv2(self.bn1(self.conv1(x)).relu()))
        if self.deep:
            y = self.bn3(self.conv3(y.relu()))
        return (y + x.sequential(getattr(self, "downsample", []))).relu()


class ResNet:
    def __init__(self, config: ResNetConfig) -> None:
        self.conv1, self.bn1 = conv(3, config.stem, 7, 2), nn.BatchNorm(config.stem)
        inputs = config.stem
        self.stages = [f"layer{stage + 1}" for stage in range(len(config.blocks))]
        for at, count, width in zip(self.stages, config.blocks, config.widths, strict=True):
            stage = []
            for number in range(count):
                stride = 2 if number == 0 and at != "layer1" else 1
                stage.append(Block(config, inputs, width, stride))
                inputs = width * config.expansion
            setattr(self, at, stage)
        self.fc = nn.Linear(inputs, config.classes)

    def __call__(self, x: Tensor) -> Tensor:
        x = self.bn1(self.conv1(x)).relu().max_pool2d((3, 3), stride=2, padding=1)
        for stage in self.stages:
            x = x.sequential(getattr(self, stage))
        return self.fc(x.mean((2, 3)))


build = ResNet


def forward(model: ResNet, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """images (B, C, H, W) -> logits (B, K)."""
    return {"logits": model(batch["images"])}
