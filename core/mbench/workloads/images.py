"""What image classifiers have in common: their data, and tensors and FLOPs layer by layer.

Shapes: B batch, C channels, H, W pixels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mbench.contract.compat import Protocol, prod, zipped
from mbench.contract.workload import Config, Optimizer, Size, Tensor, Workload

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np

    from mbench.contract.workload import ProofFields

__all__ = ["BARE_RATE", "NORMED_RATE", "Convolution", "ImageConfig", "ImageWorkload", "Layer",
           "LayerNorm", "Linear", "Norm", "Operations", "windows"]  # fmt: skip


class Layer(Protocol):
    """Anything with tensors or FLOPs. `auxiliary` layers are used in training only."""

    @property
    def name(self) -> str: ...

    @property
    def auxiliary(self) -> bool: ...

    def tensors(self) -> Iterator[Tensor]: ...

    def macs(self) -> int:
        """Multiply-adds of one sample's forward pass."""


@dataclass(frozen=True)
class Convolution:
    """`kernel` is height and width, or one number for both; `pixels` counts those of the output."""

    name: str
    inputs: int
    outputs: int
    kernel: int | tuple[int, int]
    pixels: int
    groups: int = 1
    bias: bool = False
    auxiliary: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        sides = self.kernel if isinstance(self.kernel, tuple) else (self.kernel, self.kernel)
        return (self.outputs, self.inputs // self.groups, *sides)

    def tensors(self) -> Iterator[Tensor]:
        # He et al. 2015 (arXiv:1502.01852): a variance of 2 / fan-in keeps activations' size.
        yield Tensor(f"{self.name}.weight", self.shape, math.sqrt(6 / prod(self.shape[1:])))
        if self.bias:
            yield Tensor(f"{self.name}.bias", (self.outputs,), 0.1)

    def macs(self) -> int:
        return self.pixels * prod(self.shape)


@dataclass(frozen=True)
class Norm:
    """A batch norm; its weights are centred on `gain`."""

    name: str
    channels: int
    gain: float = 1.0
    auxiliary: bool = False

    def tensors(self) -> Iterator[Tensor]:
        shape = (self.channels,)
        yield Tensor(f"{self.name}.weight", shape, 0.1 * self.gain, self.gain)
        yield Tensor(f"{self.name}.bias", shape, 0.1)
        yield Tensor(f"{self.name}.running_mean", shape, 0.1, trainable=False)
        yield Tensor(f"{self.name}.running_var", shape, 0.1, 1.0, trainable=False)

    def macs(self) -> int:
        return 0


@dataclass(frozen=True)
class LayerNorm:
    """A layer norm over the last axis, with weight and bias."""

    name: str
    channels: int
    auxiliary: bool = False

    def tensors(self) -> Iterator[Tensor]:
        yield Tensor(f"{self.name}.weight", (self.channels,), 0.1, 1.0)
        yield Tensor(f"{self.name}.bias", (self.channels,), 0.1)

    def macs(self) -> int:
        return 0


@dataclass(frozen=True)
class Linear:
    """A fully connected layer with bias, applied at `positions` of a sample, such as patches."""

    name: str
    inputs: int
    outputs: int
    auxiliary: bool = False
    positions: int = 1

    def tensors(self) -> Iterator[Tensor]:
        # PyTorch's own range. It keeps logits small, so that losses under different dropout masks
        # are close together.
        spread = 1 / math.sqrt(self.inputs)
        yield Tensor(f"{self.name}.weight", (self.outputs, self.inputs), spread)
        yield Tensor(f"{self.name}.bias", (self.outputs,), spread)

    def macs(self) -> int:
        return self.positions * self.inputs * self.outputs


def windows(
    size: int, kernel: int, *, stride: int = 1, padding: int = 0, ceil: bool = False
) -> int:
    """Number of windows that fit along a side of `size`; `ceil` allows a last one past the edge.

    The last one must begin within the image or its left padding, as in PyTorch.
    """
    free = size + 2 * padding - kernel
    if not ceil:
        return free // stride + 1
    count = math.ceil(free / stride) + 1
    return count - 1 if (count - 1) * stride >= size + padding else count


class Operations:
    """Collects the names of operators in the order of a pass through a classifier."""

    def __init__(self, batch_size: int) -> None:
        self.batch_size = batch_size
        self.found: list[str] = []

    def convolution(
        self,
        inputs: int,
        side: int,
        outputs: int,
        kernel: int,
        *,
        stride: int = 1,
        groups: int = 1,
        norm: bool = False,
        relu: bool = False,
        padding: int | None = None,
    ) -> int:
        """Adds a convolution of square images, padded by half its kernel by default, and the batch
        norm and ReLU that follow it. Returns the output's pixels per side.
        """
        padding = kernel // 2 if padding is None else padding
        name = f"op:conv2d/{self.batch_size}x{inputs}x{side}x{side}-o{outputs}-k{kernel}"
        for letter, value, usual in (("s", stride, 1), ("p", padding, 0), ("g", groups, 1)):
            name += f"-{letter}{value}" * (value != usual)
        self.found.append(name)
        side = windows(side, kernel, stride=stride, padding=padding)
        if norm:
            self.found.append(f"op:batch_norm/{self.batch_size}x{outputs}x{side}x{side}")
        if relu:
            self.found.append(f"op:relu/{self.batch_size * outputs}x{side * side}")
        return side

    def sum(self, channels: int, side: int) -> None:
        self.found.append(f"op:add/{self.batch_size * channels}x{side * side}")

    def max_pool(self, channels: int, side: int, kernel: int, *, stride: int) -> int:
        """Adds max pooling of square images, not padded; returns the output's pixels per side."""
        images = f"{self.batch_size}x{channels}x{side}x{side}"
        self.found.append(f"op:max_pool/{images}-k{kernel}-s{stride}")
        return windows(side, kernel, stride=stride)

    def classifier(self, sizes: Sequence[int], *, training: bool) -> None:
        """Adds linear layers from the first of `sizes` to the last, with ReLUs between them, and in
        training the loss.
        """
        for at, (inputs, outputs) in enumerate(zipped(sizes[:-1], sizes[1:])):
            if at:
                self.found.append(f"op:relu/{self.batch_size}x{inputs}")
            self.found.append(f"op:linear/{self.batch_size}x{inputs}x{outputs}")
        if training:
            self.found.append(f"op:cross_entropy/{self.batch_size}x{sizes[-1]}")


NORMED_RATE, BARE_RATE = 2.0**-7, 2.0**-13
"""Learning rates of proofs, for models with and without batch norm. Batch norm's weights change
little relative to their size; without it, three steps at the larger rate overshoot."""
RECIPE = Optimizer(rule="sgd", learning_rate=1e-6, momentum=0.9, weight_decay=1e-4)
"""Momentum and weight decay, the latter on every parameter, of torchvision's training recipes."""


class ImageConfig(Config, Protocol):
    """Dimensions that every classifier has."""

    @property
    def classes(self) -> int: ...

    @property
    def image_size(self) -> int: ...


@dataclass(frozen=True, kw_only=True)
class ImageWorkload(Workload):
    """Image classification with softmax cross entropy, averaged over the batch."""

    config: ImageConfig
    samples: str = "images"
    sizes: Mapping[str, Size] = field(
        default_factory=lambda: {"image_size": Size(standard=224, least=32)}
    )
    batch_sizes: dict[str, int] = field(default_factory=lambda: {"cpu": 4, "cuda": 128})
    optimizer: Optimizer = RECIPE
    proof: ProofFields = field(
        default_factory=lambda: {
            "batch_size": 4,
            "sizes": {"image_size": 64},
            "learning_rate": NORMED_RATE,
        }
    )

    def layers(self) -> Iterator[Layer]:
        """All layers that hold tensors, in order of definition."""
        raise NotImplementedError(f"{type(self).__name__} must list its layers")

    def tensors(self) -> list[Tensor]:
        return [tensor for layer in self.layers() for tensor in layer.tensors()]

    def batch(self, size: int, *, seed: int) -> dict[str, np.ndarray]:
        """images: float32 (B, 3, H, W) of unit variance; labels: int64 (B,)."""
        import numpy as np

        from mbench.contract import generator

        pixels = self.config.image_size
        key = f"data/{seed}/images"
        return {
            "images": generator.uniform(key, (size, 3, pixels, pixels)) * np.float32(math.sqrt(3)),
            "labels": generator.integers(f"data/{seed}/labels", (size,), below=self.config.classes),
        }

    def held_numbers(self, *, training: bool) -> int:
        """Half of the convolutions' outputs: a compiler may recompute some of them."""
        if not training:
            return 0
        convolutions = (layer for layer in self.layers() if isinstance(layer, Convolution))
        return sum(layer.outputs * layer.pixels for layer in convolutions) // 2

    def forward_flops(self) -> float:
        return 2.0 * sum(layer.macs() for layer in self.layers() if not layer.auxiliary)

    def flops(self, *, training: bool) -> float:
        """Training counts as three forward passes, auxiliary heads included."""
        if not training:
            return self.forward_flops()
        return 6.0 * sum(layer.macs() for layer in self.layers())
