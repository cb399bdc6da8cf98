"""Runs the first steps from two starts that are a unit in the last place apart: how far they drift
apart is how far rounding alone may move honest work.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mbench.contract import generator
from mbench.contract.precision import PRECISIONS
from mbench.contract.wire import Look, Nudged
from mbench.worker import evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mbench.contract.scenario import Work
    from mbench.contract.wire import Nudge, Seen
    from mbench.contract.workload import Tensor
    from mbench.worker.batch_cycler import BatchCycler

__all__ = ["nudge", "nudged_parameter"]


def nudge(cycler: BatchCycler, request: Nudge) -> Nudged:
    """See wire.Nudge. Raises ValueError for anything that is not finite."""
    work = cycler.prepared.work
    canonical = partial(work.workload.initial, seed=work.case.seed)
    nudged = partial(nudged_parameter, work, number=request.number)

    def steps_from(initial: Callable[[Tensor], np.ndarray]) -> list[Seen]:
        def arrays() -> Iterator[tuple[str, np.ndarray]]:
            return ((tensor.name, initial(tensor)) for tensor in work.workload.tensors())

        cycler.restore()
        evidence.load(cycler.prepared, arrays)
        cycler.loaded()
        found = []
        for step in range(1, request.steps + 1):
            cycler.step()
            cycler.synchronize()
            wanted = Look(changes=step in request.changes_at)
            found.append(evidence.look(cycler, wanted, initial=initial))
        return found

    series = steps_from(canonical)
    unit = unit_of(cycler)
    return Nudged(canonical=series, nudged=steps_from(nudged), unit=unit)


def unit_of(cycler: BatchCycler) -> float:
    """See wire.Nudged, for the parameters that the last series began with."""
    work = cycler.prepared.work
    precise = PRECISIONS[work.case.precision].products == "float64"
    kind = np.float64 if precise else np.float32
    trained = {tensor.name for tensor in work.workload.tensors() if tensor.trainable}
    units = [np.spacing(np.abs(array.astype(kind))).astype(np.float64)
             for name, array in cycler.began.items() if name in trained]  # fmt: skip
    return float(np.sqrt(sum(float(np.sum(one**2)) for one in units)))


def nudged_parameter(work: Work, tensor: Tensor, number: int = 1) -> np.ndarray:
    """A tensor's canonical start with each value a unit in the last place larger or smaller;
    `number` selects which way each goes.
    """
    array = work.workload.initial(tensor, seed=work.case.seed)
    key = tensor.name if number == 1 else f"{number}/{tensor.name}"
    signs = generator.signs(f"nudge/{key}", array.size).reshape(array.shape)
    precision = PRECISIONS[work.case.precision]
    if precision.products == "float64":
        doubles = array.astype(np.float64)
        return np.nextafter(doubles, doubles * (1 + 0.5 * signs))
    array *= 1 + np.float32(precision.unit) * signs
    return array
