"""Collectives: operations that several processes perform together, on integers from each.

Every rank gives different integers, small enough that their sums are exact in every precision. So
what each rank gets is either right to the last bit, or wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.contract.compat import zipped
from mbench.contract.workload import rank_seed
from mbench.workloads.operators.computing import (
    MatMulAllGather,
    MatMulAllReduce,
    OverlapMatMul,
    OverlapMul,
)
from mbench.workloads.operators.exchanges import (
    AllGather,
    AllReduce,
    Broadcast,
    Collective,
    Reduce,
    ReduceScatter,
    SendReceive,
)
from mbench.workloads.operators.operator import Operator

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

__all__ = ["COLLECTIVES", "Collective", "Together", "answers"]

COLLECTIVES: Mapping[str, type[Collective]] = {
    kind.kind: kind
    for kind in (
        AllReduce, AllGather, Broadcast, Reduce, ReduceScatter, SendReceive, OverlapMul,
        OverlapMatMul, MatMulAllReduce, MatMulAllGather,
    )
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Together(Operator):
    """One kind of collective at some sizes."""

    config: Collective

    def batch(self, size: int, *, seed: int) -> dict[str, np.ndarray]:
        return given(self.config, seed)

    def answers(self, *, seed: int, batch: int) -> dict[str, np.ndarray]:
        return answers(self.config, batch)[0]


def given(config: Collective, seed: int) -> dict[str, np.ndarray]:
    """The inputs of one rank: integers as float32, named by call, such as "x.0"."""
    import numpy as np

    from mbench.contract import generator

    found = {}
    for call in range(config.calls):
        for one in config.inputs():
            name = f"{one.name}.{call}"
            drawn = generator.integers(f"data/{seed}/{name}", one.shape, below=one.below)
            found[name] = drawn.astype(np.float32)
    return found


def answers(config: Collective, seed: int) -> list[dict[str, np.ndarray]]:
    """The exact results of a step, by rank: "output.0" of the exchange, and "product.0" of what is
    computed meanwhile. Float64; `seed` is that of rank 0's batch.
    """
    import numpy as np

    of_ranks = [given(config, seed + rank_seed(rank)) for rank in range(config.ranks)]
    found: list[dict[str, np.ndarray]] = [{} for _ in of_ranks]
    for call in range(config.calls):
        every = [
            {one.name: of_rank[f"{one.name}.{call}"].astype(np.float64) for one in config.inputs()}
            for of_rank in of_ranks
        ]
        got = config.together([config.gives(own) for own in every])
        for rank, (own, array) in enumerate(zipped(every, got)):
            if array is not None:
                found[rank][f"output.{call}"] = array
            for name, beside in config.alone(own).items():
                found[rank][f"{name}.{call}"] = beside
    return found
