"""A workload of a few tensors, and observations of made-up changes."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from mbench_tiny import TINY, TinyWorkload

from mbench.contract import generator
from mbench.contract.sketch import sketch
from mbench.contract.wire import Observation, StepEvidence
from mbench.contract.workload import Tensor
from mbench.proofs.reference import STEPS, Reference, trajectory

if TYPE_CHECKING:
    from collections.abc import Callable

TENSORS = [
    Tensor("one.weight", (16, 8), 0.1),
    Tensor("one.bias", (16,), 0.1, decay=False),
    Tensor("norm.weight", (16,), 0.1, 1.0, decay=False),
    Tensor("norm.running_mean", (16,), 0.1, trainable=False),
    Tensor("norm.running_var", (16,), 0.1, 1.0, trainable=False),
    Tensor("two.weight", (4, 16), 0.1),
    Tensor("two.bias", (4,), 0.1, decay=False),
]
LOSSES = [2.0, 1.9, 1.8]

Changes = list[dict[str, np.ndarray]]


@dataclass(frozen=True, kw_only=True)
class SmallWorkload(TinyWorkload):
    def tensors(self) -> list[Tensor]:
        return TENSORS


@pytest.fixture
def workload() -> SmallWorkload:
    return SmallWorkload(**{**vars(TINY), "name": "small", "proof": {"batch_size": 8}})


@pytest.fixture
def changes() -> Changes:
    """What each step has changed of each tensor, as an honest framework would report it."""
    return [
        {
            tensor.name: 1e-3
            * (step + 1)
            * generator.uniform(f"{step}/{tensor.name}", tensor.shape).astype(np.float64)
            for tensor in TENSORS
        }
        for step in range(STEPS)
    ]


@pytest.fixture
def observed() -> Callable[..., Observation]:
    """Makes the observation of such changes, one dictionary per step."""

    def observed(changes: Changes, losses: list[float | None] | None = None) -> Observation:
        return Observation(
            trainable_parameters=sum(t.size for t in TENSORS if t.trainable),
            counted_flops=None,
            shapes={tensor.name: list(tensor.shape) for tensor in TENSORS},
            steps=[
                StepEvidence(
                    loss=loss,
                    outputs={},
                    parameters={name: sketch(name, array) for name, array in step.items()},
                )
                for step, loss in zip(changes, losses or LOSSES, strict=True)
            ],
        )

    return observed


@pytest.fixture
def reference(workload, changes, observed) -> Reference:
    seen = observed(changes)
    outputs = {"logits": np.array(sketch("logits", np.arange(7.0)))}
    return Reference(
        outputs={0: outputs, 1: {"logits": 2 * outputs["logits"]}},
        plain=trajectory(observed(changes[:1], LOSSES[:1]), workload),
        own=trajectory(seen, workload),
        made={"framework": "none", "model": workload.name, "proof": workload.proof},
    )


@pytest.fixture
def small() -> SimpleNamespace:
    return SimpleNamespace(tensors=TENSORS, losses=LOSSES)
