"""Workloads that must not work, by name: "mbench.testing.tampered:KIND:MODEL:MODULE:ATTRIBUTE".

A worker finds a workload as an attribute of a module, so this module has one for every kind of
fault and every existing workload. The model is built from the workload's own configuration, but the
tensors that are loaded into it, or its data, are wrong.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mbench.contract.workload import Tensor
from mbench.workloads.find import find_workload

if TYPE_CHECKING:
    from mbench.contract.case import Case

__all__ = ["PARAMETERS", "tampered"]


def last_of(tensors: list[Tensor]) -> Tensor:
    return [tensor for tensor in tensors if tensor.trainable][-1]


def left_out(tensors: list[Tensor]) -> list[Tensor]:
    return [tensor for tensor in tensors if tensor is not last_of(tensors)]


def surplus(tensors: list[Tensor]) -> list[Tensor]:
    return [*tensors, Tensor("surplus", (3,), 1.0)]


def misshaped(tensors: list[Tensor]) -> list[Tensor]:
    last = last_of(tensors)
    longer = replace(last, shape=(*last.shape[:-1], last.shape[-1] + 1))
    return [longer if tensor is last else tensor for tensor in tensors]


def not_a_number(tensors: list[Tensor]) -> list[Tensor]:
    return [replace(tensor, center=float("nan")) for tensor in tensors]


PARAMETERS = {function.__name__: function for function in (left_out, surplus, misshaped)}


def tampered(case: Case, kind: str) -> Case:
    """`case` with a fault: one of PARAMETERS, "not_a_number" or "vast"."""
    return replace(case, workload=f"{__name__}:{kind}:{case.model}:{case.workload}")


def __getattr__(name: str) -> object:
    if name.count(":") < 3:
        raise AttributeError(name)
    kind, model, reference = name.split(":", 2)
    honest = find_workload(reference, model)

    class Tampered(type(honest)):  # type: ignore[misc]
        def tensors(self) -> list[Tensor]:
            tensors = list(super().tensors())
            change = {**PARAMETERS, "not_a_number": not_a_number}.get(kind)
            return change(tensors) if change else tensors

        def batch(self, size: int, *, seed: int) -> dict[str, np.ndarray]:
            """For "vast", arrays that take no memory until they are copied."""
            if kind != "vast":
                honest_batch: dict[str, np.ndarray] = super().batch(size, seed=seed)
                return honest_batch
            return {
                name: np.broadcast_to(array, (size, *array.shape[1:]))
                for name, array in super().batch(1, seed=seed).items()
            }

    return Tampered(**vars(honest))
