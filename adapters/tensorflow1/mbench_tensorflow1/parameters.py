"""The model's variables by canonical name, written and read through the session that holds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mbench.contract.compat import zipped
from mbench.sdk import tensors
from mbench.sdk.tensors import Native

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import tensorflow as tf

__all__ = ["Store", "Tensor"]

CHUNK_BYTES = 2**26
"""Least that one run of the session writes or reads: each run first makes a graph of its own."""


class Store:
    """Writes and reads variables, many in one run."""

    def __init__(self, session: tf.Session) -> None:
        self.session = session
        self.waiting: dict[tf.Variable, np.ndarray] = {}

    def put(self, variable: tf.Variable, array: np.ndarray) -> None:
        """Queue a copy of `array`: a variable takes over the memory that it is given."""
        self.waiting[variable] = np.array(array, variable.dtype.as_numpy_dtype, order="C")
        if sum(array.nbytes for array in self.waiting.values()) >= CHUNK_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write all queued arrays."""
        writes = {variable.initializer: array for variable, array in self.waiting.items()}
        self.waiting = {}
        if writes:
            feeds = {write.inputs[1]: array for write, array in writes.items()}
            self.session.run(list(writes), feeds)

    def read(self, natives: Mapping[str, Tensor]) -> Iterator[tuple[str, np.ndarray]]:
        """Names and copies of all variables, in the canonical layout."""
        names: list[str] = []
        bytes_waiting = 0
        for name, native in natives.items():
            names.append(name)
            bytes_waiting += native.tensor.shape.num_elements() * native.tensor.dtype.size
            if bytes_waiting >= CHUNK_BYTES:
                yield from self._read(natives, names)
                names, bytes_waiting = [], 0
        yield from self._read(natives, names)

    def _read(
        self, natives: Mapping[str, Tensor], names: list[str]
    ) -> Iterator[tuple[str, np.ndarray]]:
        found = self.session.run([natives[name].tensor for name in names]) if names else []
        for name, array in zipped(names, found):
            yield name, natives[name].canonical(array)


@dataclass(frozen=True, eq=False)
class Tensor(Native):
    """A variable. What is written to it waits until its store is flushed."""

    store: Store | None = None
    """None in a graph that never runs."""

    def assign(self, array: np.ndarray) -> None:
        assert self.store is not None
        self.store.put(self.tensor, array)

    def canonical(self, array: np.ndarray) -> np.ndarray:
        """A copy of the variable's value `array`, in the canonical layout."""
        copy = tensors.to_numpy(array)
        return copy.transpose(np.argsort(self.axes)) if self.axes else copy

    def fetch(self) -> np.ndarray:
        assert self.store is not None
        return tensors.to_numpy(self.store.session.run(self.tensor))
