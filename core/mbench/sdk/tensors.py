"""Converts canonical tensors to and from a model's own, whatever their names, layouts and types."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np

from mbench.contract.compat import prod

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mbench.contract.case import Case
    from mbench.contract.tensors import Tensor, Tensors


__all__ = ["Native", "assign", "load", "micro_batches", "natives", "read", "to_numpy", "trainable"]


@dataclass(frozen=True, eq=False)
class Native:
    """A parameter or running statistic as the framework keeps it: here as a NumPy array. Adapters
    whose tensors are not arrays subclass it.

    `axes` are the canonical axes in the framework's order: (1, 0) is a weight kept as (in, out),
    (2, 3, 1, 0) a convolution's kept as (height, width, in, out). Without them the layout is the
    canonical one.
    """

    tensor: Tensor
    trainable: bool
    axes: Sequence[int] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in the canonical layout."""
        own = tuple(self.tensor.shape)
        return tuple(own[at] for at in np.argsort(self.axes)) if self.axes else own

    def write(self, array: np.ndarray) -> None:
        """Set the tensor to a canonical value."""
        self.assign(array.transpose(self.axes) if self.axes else array)

    def read(self) -> np.ndarray:
        """The canonical value as it is now, float32 or float64."""
        array = self.fetch()
        return array.transpose(np.argsort(self.axes)) if self.axes else array

    def assign(self, array: np.ndarray) -> None:
        """Copy `array`, which has the framework's own layout, into the tensor."""
        self.tensor[...] = array

    def fetch(self) -> np.ndarray:
        """A copy of the tensor in its own layout, in float32, or in float64 if that is its type."""
        return to_numpy(self.tensor)


@dataclass(frozen=True, eq=False)
class Converted(Native):
    """A tensor in the canonical layout, which functions of the adapter read and set."""

    functions: Sequence[Callable[..., Tensor]] = ()
    """One function that reads a tensor, and one that sets it to an array."""

    def assign(self, array: np.ndarray) -> None:
        self.functions[1](self.tensor, array)

    def fetch(self) -> np.ndarray:
        found: np.ndarray = self.functions[0](self.tensor)
        return found


def natives(
    state: Tensors,
    *,
    to_numpy: Callable[[Tensor], np.ndarray],
    assign: Callable[[Tensor, np.ndarray], None],
) -> dict[str, Native]:
    """The tensors of a model in the canonical layout. All are trained except running statistics and
    those whose `requires_grad` is False.
    """
    return {
        name: Converted(tensor, is_trained(name, tensor), functions=(to_numpy, assign))
        for name, tensor in state.items()
    }


def is_trained(name: str, tensor: object) -> bool:
    running = name.rpartition(".")[2].startswith("running_")
    return not running and getattr(tensor, "requires_grad", True) is not False


def to_numpy(tensor: object) -> np.ndarray:
    """A float32 copy of anything that NumPy takes as an array, or float64 if that is its type."""
    array = np.array(tensor)
    return array if array.dtype == np.float64 else array.astype(np.float32, copy=False)


def assign(tensor: Tensor, array: np.ndarray) -> None:
    """Copy `array` into a tensor that supports NumPy's syntax for assignment."""
    tensor[...] = array


def load(model: Mapping[str, Native], arrays: Iterable[tuple[str, np.ndarray]]) -> None:
    """Copy `arrays` into the tensors of `model`, keyed by canonical name.

    Raises ValueError for a name that the model does not have or that comes twice, for a wrong
    shape, and for a tensor that is left out.
    """
    missing = dict(model)
    for name, array in arrays:
        native = missing.pop(name, None)
        if native is None and name in model:
            raise ValueError(f"{name} came twice")
        if native is None:
            close = get_close_matches(name, list(model), 1, 0.0)
            instead = f"; it has {close[0]}" if close else ""
            raise ValueError(f"the model has no {name}{instead}")
        if native.shape != array.shape:
            raise ValueError(f"{name} is {native.shape} in the model, not {array.shape}")
        native.write(array)
    if missing:
        raise ValueError(f"the model has {next(iter(missing))}, which was left out")


def read(model: Mapping[str, Native]) -> Iterator[tuple[str, np.ndarray]]:
    """Copies of all tensors, one at a time."""
    for name, native in model.items():
        yield name, native.read()


def trainable(model: Mapping[str, Native]) -> Tensors:
    """The framework's own tensors that the optimizer updates, by canonical name."""
    return {name: native.tensor for name, native in model.items() if native.trainable}


def trainable_scalars(model: Mapping[str, Native]) -> int:
    return sum(prod(native.shape) for native in model.values() if native.trainable)


def micro_batches(batch: Tensors, case: Case) -> list[Tensors]:
    """The parts of a batch whose gradients an optimizer step accumulates. Parts are equally large,
    so the gradients of the whole batch are the mean of theirs.
    """
    parts = case.accumulate
    if parts == 1:
        return [batch]
    each = case.batch_size // parts
    return [
        {name: tensor[at : at + each] for name, tensor in batch.items()}
        for at in range(0, parts * each, each)
    ]
