"""Operators: the smallest models, created from their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mbench.workloads.operators.collectives import COLLECTIVES, Collective, Together
from mbench.workloads.operators.decoders import GroupedAttention, RMSNorm, Rotary, SwiGLU
from mbench.workloads.operators.norms import BatchNorm, CrossEntropy, LayerNorm, Softmax
from mbench.workloads.operators.operator import PREFIX, Kind, Operator, of_text
from mbench.workloads.operators.pointwise import (
    Add,
    Empty,
    FromDevice,
    Gelu,
    MaxPool,
    MeanPool,
    Relu,
    ToDevice,
)
from mbench.workloads.operators.products import Attention, BatchedMatMul, Conv2d, Linear, MatMul
from mbench.workloads.operators.sequences import LSTM, Embedding, EmbeddingBag
from mbench.workloads.operators.updates import UPDATES, Update, Updated

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["COLLECTIVES", "KINDS", "OPERATORS", "PREFIX", "Kind", "Operator"]

KINDS: Mapping[str, type[Kind]] = {
    **{kind.kind: kind for kind in (
        MatMul, BatchedMatMul, Linear, Conv2d, Attention, BatchNorm, LayerNorm, Softmax,
        CrossEntropy, Relu, Gelu, Add, Empty, MaxPool, MeanPool, Embedding, EmbeddingBag, LSTM,
        RMSNorm, Rotary, GroupedAttention, SwiGLU, ToDevice, FromDevice,
    )},
    **UPDATES,
}  # fmt: skip


EVERY: Mapping[str, type[Kind]] = {**KINDS, **COLLECTIVES}


class Operators(Mapping):  # type: ignore[type-arg]
    """Every operator that can be named. Iteration yields the usage of each kind."""

    def __getitem__(self, name: str) -> Operator:
        found = of_text(name, EVERY)
        if isinstance(found.config, Collective):
            return Together(**{**vars(found), "family": "collectives"})
        if isinstance(found.config, Update):
            return Updated.of(found)
        return found

    def __iter__(self) -> Iterator[str]:
        return (kind.usage() for kind in EVERY.values())

    def __len__(self) -> int:
        return len(EVERY)


OPERATORS = Operators()
