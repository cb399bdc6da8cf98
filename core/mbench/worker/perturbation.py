"""Lets the first steps begin a unit in the last place apart: how far that carries them is how far
rounding alone may carry honest work.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mbench.contract.precision import PRECISIONS
from mbench.contract.wire import Look, Nudged
from mbench.worker import evidence
from mbench.workloads import generator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mbench.contract.case import Case
    from mbench.contract.wire import Nudge, Seen
    from mbench.worker.batch_cycler import BatchCycler
    from mbench.workloads.workload import Tensor, Workload

__all__ = ["nudge"]


def nudge(rotation: BatchCycler, workload: Workload, case: Case, request: Nudge) -> Nudged:
    """See wire.Nudge. Raises ValueError for what is not finite."""
    unit = np.float32(PRECISIONS[case.precision].unit)
    canonical = partial(workload.initial, seed=case.seed)

    def nudged(tensor: Tensor) -> np.ndarray:
        array = canonical(tensor)
        signs = generator.signs(f"nudge/{tensor.name}", array.size).reshape(array.shape)
        array *= 1 + unit * signs
        return array

    def steps_from(initial: Callable[[Tensor], np.ndarray]) -> list[Seen]:
        def arrays() -> Iterator[tuple[str, np.ndarray]]:
            return ((tensor.name, initial(tensor)) for tensor in workload.tensors())

        evidence.load(rotation.benchmark, arrays, case)
        rotation.loaded()
        found = []
        for step in range(1, request.changes_at[-1] + 1):
            rotation.step()
            rotation.synchronize()
            wanted = Look(changes=step in request.changes_at)
            found.append(evidence.look(rotation, workload, case, wanted, initial=initial))
        return found

    return Nudged(canonical=steps_from(canonical), nudged=steps_from(nudged))
