"""A case whose calls are copies between NumPy's memory and the device, in any framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbench.sdk import tensors
from mbench.sdk.benchmark import Prepared
from mbench.sdk.checks import require

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from mbench.contract.benchmark import Call
    from mbench.contract.tensors import Tensor, Tensors
    from mbench.sdk.tensors import Native

    Upload = Callable[[np.ndarray], Tensor]
    Download = Callable[[Tensor], np.ndarray]

__all__ = ["Copies"]


class Copies(Prepared):
    """Batches lie where they are copied from. There is no model, and nothing is compiled."""

    copy: Upload | Download
    to_device: bool

    def __init__(
        self,
        uploader: Callable[[], Upload],
        downloader: Callable[[], Download],
        fetch: Download,
        **how: Any,
    ) -> None:
        """`uploader` and `downloader` return the functions that copy, see RuntimeBase; `fetch` is
        Prepared.to_numpy.
        """
        self.uploader, self.downloader, self.fetch = uploader, downloader, fetch
        super().__init__(**how)

    def build(self) -> None:
        """There is no model."""

    def host(self, array: np.ndarray) -> np.ndarray:
        return array.astype(self.precision.parameters)

    def place(self, array: np.ndarray) -> Tensor:
        return self.host(array) if self.to_device else self.upload(self.host(array))

    def place_batches(self) -> None:
        """Places nothing yet: where batches belong depends on the direction."""
        kind = self.precision
        said = f"{kind.name} has no effect here: NumPy's arrays are copied as they are"
        require(not kind.mixed and not kind.tf32 and kind.parameters != "bfloat16", said)

    def copy_step(self, *, to_device: bool) -> Call:
        self.to_device = to_device
        self.upload = self.uploader()
        self.copy = self.upload if to_device else self.downloader()
        super().place_batches()
        self.check_copies()
        return self.infer

    def check_copies(self) -> None:
        """Raises Unsupported if a copy shares memory with its source or with an earlier copy."""
        drawn = next(iter(self.workload.batch(1, seed=0).values()))
        source = self.place(drawn)
        one, other = self.copy(source), self.copy(source)
        self.synchronize()
        written = source if self.to_device else one
        if written.flags.writeable:
            written += 1
        left = (one, other) if self.to_device else (source, other)
        unchanged = all(np.array_equal(self.fetched(array), self.host(drawn)) for array in left)
        said = "shares memory with its source: nothing was copied"
        require(written.flags.writeable and unchanged, f"the result of {self.workload.name} {said}")

    def fetched(self, array: object) -> np.ndarray:
        known = isinstance(array, np.ndarray)
        return tensors.to_numpy(array) if known else self.fetch(array)

    def infer(self, batch: Tensors) -> Tensors:
        return {name.replace("x", "output"): self.copy(array) for name, array in batch.items()}

    def natives(self) -> Mapping[str, Native]:
        return {}

    def outputs(self) -> dict[str, np.ndarray]:
        return {name: self.fetched(array) for name, array in self._result.items()}
