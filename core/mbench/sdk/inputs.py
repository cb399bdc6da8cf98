"""The part of a prepared case that handles batches from files, in any framework."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from mbench.contract.adapter import Unsupported
from mbench.contract.compat import zipped

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np

    from mbench.contract.benchmark import Call
    from mbench.contract.feed import Pipeline, Plan, Source
    from mbench.contract.tensors import Tensor, Tensors

    Key = tuple[int, Sequence[int], bool]

__all__ = ["Inputs", "PlannedBatches"]


class PlannedBatches:
    """A batch sampler for loaders: the keys of each batch of the current plan. A key is a sample's
    id, its crop box, and whether it is mirrored.
    """

    def __init__(self, batch_size: int) -> None:
        self.batch_size = batch_size
        self.plan: Plan | None = None

    def __iter__(self) -> Iterator[list[Key]]:
        plan = self.plan
        for part in plan.batches(self.batch_size) if plan is not None else ():
            assert plan is not None
            boxes, flips = plan.boxes[part].tolist(), plan.flips[part].tolist()
            yield list(zipped(plan.ids[part].tolist(), boxes, flips))


class Inputs:
    """An adapter whose plugin names the feed "files" has a module `inputs` next to its runtime; its
    `open_files(benchmark, source)` returns the Pipeline.
    """

    call: Call
    to_numpy: Callable[[Tensor], np.ndarray]
    canonical: Callable[..., np.ndarray]
    _kept: deque[Tensor]

    def files(self, source: Source) -> Pipeline:
        package = type(self).__module__.rpartition(".")[0]
        try:
            module = importlib.import_module(f"{package}.inputs")
        except ModuleNotFoundError as error:
            raise Unsupported(f"the adapter has no input pipeline here: {error}") from None
        found: Pipeline = module.open_files(self, source)
        return found

    def step_on(self, batch: Tensors) -> None:
        self._result = self.call(batch)
        self._kept.append(self._result)

    def pixels(self, batch: Tensors) -> np.ndarray:
        """The batch's images in the canonical layout."""
        return self.canonical(self.to_numpy(batch["images"]), None)
