"""What a framework must provide to run the models of this package.

Shapes: B batch, C channels, H W pixels, L sequence, D features. Whether an image has its channels
first or last is the framework's choice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mbench.contract.compat import Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Array", "Net"]


class Shaped(Protocol):
    """An array, or a node of a graph; `shape` is a sequence of lengths."""

    @property
    def shape(self) -> Sequence[int]: ...


Array = TypeVar("Array", bound=Shaped)


class Net(Generic[Array]):
    """One pass through a model. Each layer asks for its tensors by their canonical names.

    An adapter subclasses it, and implements every method that raises NotImplementedError and that
    one of its models calls.
    """

    config: Any
    """The workload's config. Norms use its `epsilon`, and its `momentum` for new statistics."""
    training: bool = False
    channels = 1
    """The axis of an image's channels."""

    @property
    def heads(self) -> bool:
        """Whether auxiliary heads are computed: only if they are outputs, unless overridden."""
        return self.training

    def layer(self, function: Callable[..., Array], at: str, x: Array) -> Array:
        """`function(net, at, x)`, one of many identical layers, whose tensors' names begin with
        `at`. The backward pass may recompute what is inside.
        """
        return function(self, at, x)

    # Layers: the framework's own.

    def tensor(
        self, name: str, shape: Sequence[int], axes: Sequence[int] = (), *, trainable: bool = True
    ) -> Array:
        """A tensor of that shape; `axes` are the canonical axes in the order used here."""
        raise NotImplementedError

    def convolved(
        self,
        name: str,
        x: Array,
        outputs: int,
        sides: tuple[int, int],
        margins: tuple[int, int],
        stride: int,
        groups: int,
        bias: bool,
    ) -> Array:
        """Convolution; `margins` are the zeros added above and below, and left and right."""
        raise NotImplementedError

    def norm(self, name: str, x: Array) -> Array:
        """Batch norm over channels."""
        raise NotImplementedError

    def layer_norm(self, name: str, x: Array) -> Array:
        """Layer norm over the last axis."""
        raise NotImplementedError

    def linear(self, name: str, x: Array, outputs: int, *, axes: Sequence[int] = (1, 0)) -> Array:
        """Linear in the last axis. The canonical weight is (out, in), or (in, out) with axes ()."""
        raise NotImplementedError

    def embedding(self, name: str, rows: int, width: int) -> Array:
        """The table (rows, width)."""
        raise NotImplementedError

    def dropout(self, x: Array, rate: float) -> Array:
        """Dropout; leaves `x` unchanged in inference."""
        if self.training:
            raise NotImplementedError
        return x

    def attention(
        self, query: Array, key: Array, value: Array, rate: float, *, causal: bool = False
    ) -> Array:
        """Attention on (B, L, heads, D): two products around a softmax, with dropout after it."""
        raise NotImplementedError

    # Operations: the framework's own.

    def relu(self, x: Array) -> Array:
        raise NotImplementedError

    def relu6(self, x: Array) -> Array:
        """min(max(x, 0), 6)."""
        raise NotImplementedError

    def tanh(self, x: Array) -> Array:
        raise NotImplementedError

    def gelu(self, x: Array) -> Array:
        """The exact GELU, by erf."""
        raise NotImplementedError

    def tanh_gelu(self, x: Array) -> Array:
        """The approximation by tanh."""
        raise NotImplementedError

    def sum(self, x: Array, y: Array) -> Array:
        raise NotImplementedError

    def joined(self, *parts: Array) -> Array:
        """Concatenated along channels."""
        raise NotImplementedError

    def halves(self, x: Array) -> Sequence[Array]:
        """The first and the second half of the channels."""
        raise NotImplementedError

    def interleaved(self, x: Array, y: Array) -> Array:
        """Channels of `x` and `y` in alternation."""
        raise NotImplementedError

    def max_pool(
        self, x: Array, size: int, *, stride: int = 2, padding: int = 0, ceil: bool = False
    ) -> Array:
        """If padded, `x` is a ReLU's output. `ceil` lets the last window extend past the edge."""
        raise NotImplementedError

    def mean_pool(self, x: Array, size: int, *, stride: int = 2, padding: int = 0) -> Array:
        """Padded zeros count towards the mean."""
        raise NotImplementedError

    def regions(self, x: Array, count: int) -> Array:
        """Means over `count` regions per side, as in PyTorch's AdaptiveAvgPool2d."""
        raise NotImplementedError

    def pixels(self, x: Array) -> Array:
        """(B, C): the mean over all pixels of each image."""
        raise NotImplementedError

    def flat(self, x: Array) -> Array:
        """(B, C * H * W): pixels channel by channel, wherever the framework has its channels."""
        raise NotImplementedError

    def reshaped(self, x: Array, *shape: int) -> Array:
        raise NotImplementedError

    def rows(self, table: Array, ids: Array) -> Array:
        """The rows of `table` with these numbers."""
        raise NotImplementedError

    def first_rows(self, table: Array, count: int) -> Array:
        raise NotImplementedError

    def first_position(self, x: Array) -> Array:
        """(B, L, D) -> (B, D)."""
        raise NotImplementedError

    def positions(self, x: Array, chosen: Array) -> Array:
        """(B, L, D), (B, P) -> (B, P, D): each sample's vectors at the positions chosen for it."""
        raise NotImplementedError

    def thirds(self, x: Array) -> Sequence[Array]:
        """The last axis split into three."""
        raise NotImplementedError

    def scores(self, x: Array, table: Array) -> Array:
        """(B, L, D), (V, D) -> (B, L, V): products with each row of `table`."""
        raise NotImplementedError

    def biased(self, x: Array, name: str) -> Array:
        """`x` with the vector of that name added along the last axis."""
        raise NotImplementedError

    # For decoders: the framework's own.

    def constant(self, array: Any) -> Array:
        """A NumPy array; floats in the type of products."""
        raise NotImplementedError

    def rms_norm(self, name: str, x: Array) -> Array:
        """Root mean square norm over the last axis."""
        raise NotImplementedError

    def projected(self, name: str, x: Array, outputs: int) -> Array:
        """Linear in the last axis, without a bias. The canonical weight is (out, in)."""
        raise NotImplementedError

    def silu(self, x: Array) -> Array:
        """x sigmoid(x)."""
        raise NotImplementedError

    def product(self, x: Array, y: Array) -> Array:
        raise NotImplementedError

    def rotated(self, x: Array, cosines: Array, sines: Array) -> Array:
        """(B, L, heads, W) by (L, W/2): channels i and i + W/2 are turned as a pair."""
        raise NotImplementedError

    def grouped_attention(
        self, query: Array, key: Array, value: Array, position: Array | None = None
    ) -> Array:
        """Attention on (B, L, Q, W), (B, T, H, W), (B, T, H, W): Q / H consecutive query heads
        share a key and value head. Causal; with a `position`, L is 1 and later keys are masked.
        """
        raise NotImplementedError

    def last_positions(self, x: Array, count: int) -> Array:
        """(B, L, D) -> (B, count, D)."""
        raise NotImplementedError

    def roomy(self, x: Array, room: int) -> Array:
        """(B, L, ...) -> (B, room, ...), with zeros at the end."""
        raise NotImplementedError

    def row(self, table: Array, position: Array) -> Array:
        """(L, D) -> (1, D)."""
        raise NotImplementedError

    def put(self, cache: Array, new: Array, position: Array) -> Array:
        """`cache` (B, T, ...) with `new` (B, 1, ...) at a position."""
        raise NotImplementedError

    # What is built from those.

    def conv(
        self,
        name: str,
        x: Array,
        outputs: int,
        kernel: int | tuple[int, int] = 1,
        *,
        stride: int = 1,
        padding: int | None = None,
        groups: int = 1,
        bias: bool = False,
    ) -> Array:
        """Convolution, padded by `padding` zeros on each side; by default, by half its kernel."""
        high, wide = (kernel, kernel) if isinstance(kernel, int) else kernel
        margins = (high // 2, wide // 2) if padding is None else (padding, padding)
        return self.convolved(name, x, outputs, (high, wide), margins, stride, groups, bias)

    def normed(self, conv: str, norm: str, x: Array, *shape: int, **settings: Any) -> Array:
        """A convolution and its batch norm, by their names."""
        return self.norm(norm, self.conv(conv, x, *shape, **settings))

    def width(self, x: Array) -> int:
        """How many channels there are."""
        return int(x.shape[self.channels])
