"""The part of a prepared case that is about batches from files, in any framework."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mbench.contract.adapter import Unsupported

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable, Mapping

    import numpy as np

    from mbench.contract.benchmark import Call
    from mbench.contract.feed import Pipeline, Source

__all__ = ["Inputs"]


class Inputs:
    """An adapter whose plugin names the feed "files" has a module `inputs` beside its runtime, with
    `open_files(benchmark, source)`, which gives the Pipeline.
    """

    call: Call
    to_numpy: Callable[[Any], np.ndarray]
    canonical: Callable[..., np.ndarray]
    _kept: deque[Any]

    def files(self, source: Source) -> Pipeline:
        package = type(self).__module__.rpartition(".")[0]
        try:
            module = importlib.import_module(f"{package}.inputs")
        except ModuleNotFoundError as error:
            raise Unsupported(f"the adapter has no input pipeline here: {error}") from None
        found: Pipeline = module.open_files(self, source)
        return found

    def step_on(self, batch: Mapping[str, Any]) -> None:
        self._result = self.call(batch)
        self._kept.append(self._result)

    def pixels(self, batch: Mapping[str, Any]) -> np.ndarray:
        """Its images in the canonical layout."""
        return self.canonical(self.to_numpy(batch["images"]), None)
