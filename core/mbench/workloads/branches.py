"""Networks whose modules are parallel branches: the plan by which GoogLeNet and Inception are
built in every framework.

Each part takes the output of the one before it. A model file builds the framework's own layers
from the parts, under the same names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.contract.compat import Protocol
from mbench.workloads.images import Convolution, Norm, windows

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Branch", "BranchedConfig", "Conv", "Head", "Mixed", "Part", "Pool"]


@dataclass(frozen=True)
class Conv:
    """A convolution "conv" without bias, its batch norm "bn" and a ReLU.

    `kernel` is height and width, or one number for both. `padding` is the number of zeros on every
    side. The default, half the kernel, keeps height and width at stride 1.
    """

    name: str
    inputs: int
    outputs: int
    kernel: int | tuple[int, int] = 1
    stride: int = 1
    padding: int | None = None

    @property
    def sides(self) -> tuple[int, int]:
        """Height and width of the kernel."""
        return (self.kernel, self.kernel) if isinstance(self.kernel, int) else self.kernel

    @property
    def margins(self) -> tuple[int, int]:
        """Zeros above and below, and on the left and the right."""
        high, wide = self.sides
        return (high // 2, wide // 2) if self.padding is None else (self.padding, self.padding)

    def side(self, size: int) -> int:
        """Side of the output, for an input with sides of `size` pixels."""
        return windows(size, self.sides[0], stride=self.stride, padding=self.margins[0])

    def layers(
        self, size: int, *, at: str = "", auxiliary: bool = False
    ) -> Iterator[Convolution | Norm]:
        """The layers that hold its tensors, for an input with sides of `size` pixels."""
        name, pixels = f"{at}{self.name}", self.side(size) ** 2
        yield Convolution(
            f"{name}.conv", self.inputs, self.outputs, self.kernel, pixels, auxiliary=auxiliary
        )
        yield Norm(f"{name}.bn", self.outputs, auxiliary=auxiliary)


@dataclass(frozen=True)
class Pool:
    """Max pooling or, with `mean`, average pooling in which the zeros of the padding count.

    `ceil` lets the last window extend past the edge.
    """

    name: str = "pool"
    size: int = 3
    stride: int = 2
    padding: int = 0
    ceil: bool = False
    mean: bool = False

    def side(self, size: int) -> int:
        return windows(size, self.size, stride=self.stride, padding=self.padding, ceil=self.ceil)

    def layers(self, size: int, *, at: str = "") -> Iterator[Convolution | Norm]:
        return iter(())


@dataclass(frozen=True)
class Branch:
    """Layers in sequence. Each of `ends` takes a copy of their output."""

    row: tuple[Conv | Pool, ...]
    ends: tuple[Conv, ...] = ()

    def outputs(self, inputs: int) -> int:
        """Channels of all ends together."""
        last = self.ends or self.row[-1:]
        return sum(inputs if isinstance(one, Pool) else one.outputs for one in last)

    def side(self, size: int) -> int:
        for one in self.row:
            size = one.side(size)
        return size


@dataclass(frozen=True)
class Mixed:
    """Branches that all take the same input; their outputs are concatenated in this order."""

    name: str
    inputs: int
    branches: tuple[Branch, ...]

    @property
    def outputs(self) -> int:
        return sum(branch.outputs(self.inputs) for branch in self.branches)

    def side(self, size: int) -> int:
        return self.branches[0].side(size)

    def layers(self, size: int) -> Iterator[Convolution | Norm]:
        for branch in self.branches:
            side = size
            for one in branch.row:
                yield from one.layers(side, at=f"{self.name}.")
                side = one.side(side)
            for end in branch.ends:
                yield from end.layers(side, at=f"{self.name}.")


@dataclass(frozen=True)
class Head:
    """An auxiliary classifier, which takes the output of the part before it and is used in training
    only. `output` names its logits.
    """

    name: str
    output: str
    inputs: int

    def side(self, size: int) -> int:
        """Side of the next part's input, which is also the head's."""
        return size


if TYPE_CHECKING:
    Part = Conv | Pool | Mixed | Head


class BranchedConfig(Protocol):
    """Dimensions of a network of branches. After all parts come the mean over pixels, dropout and a
    classifier.
    """

    def parts(self) -> Iterator[Part]: ...

    @property
    def features(self) -> int:
        """Channels before the classifier."""

    @property
    def dropout(self) -> float: ...

    @property
    def classes(self) -> int: ...

    @property
    def epsilon(self) -> float: ...

    @property
    def momentum(self) -> float: ...
