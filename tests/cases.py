"""A usual case, in which tests change the axes that they are about, and usual gates."""

from __future__ import annotations

from typing import Any

from mbench.contract.case import Case
from mbench.results.evidence import Gates

__all__ = ["GATES", "make_case"]

GATES = Gates(
    answers=1e-5, widest=0.3, means=None, drift=0.3, norm=0.02, direction=0.1, statistics=1e-3,
    growth=0.2,
)  # fmt: skip


def make_case(**changes: Any) -> Case:
    """A case that trains the tiny framework's model on one thread, with `changes` applied."""
    usual = {
        "model": "tiny-model",
        "workload": "mbench_tiny:TINY",
        "mode": "train",
        "batch_size": 8,
        "precision": "fp32",
        "compiler": "eager",
        "device": "cpu",
        "threads": 1,
    }
    return Case(**{**usual, **changes})
