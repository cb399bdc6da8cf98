"""Finds workloads by reference, so that a worker needs no plugins for it."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from mbench.contract.feed import RESIDENT, WARM
from mbench.contract.forms import LONGER

if TYPE_CHECKING:
    from mbench.contract.case import Case
    from mbench.contract.workload import Workload

__all__ = ["LONGER", "OPERATORS", "find_workload", "operator_case"]

OPERATORS = "mbench.workloads.operators:OPERATORS"
"""Module in which operators are made from their names; there are too many to list."""


def find_workload(reference: str, model: str) -> Workload:
    """The workload at "module:attribute", or that of `model` where the attribute is a mapping. The
    model itself provides its variants with a longer stage.
    """
    module, _, attribute = reference.partition(":")
    found = getattr(importlib.import_module(module), attribute)
    name, _, stage = model.partition(LONGER)
    workload: Workload = found[name] if isinstance(found, Mapping) else found
    return workload.lengthened()[stage] if stage else workload


def operator_case(case: Case, name: str, *, calls: int = 1) -> Case:
    """`case` with an operator in place of the model, called that many times in a step."""
    return dataclasses.replace(
        case, model=name, workload=OPERATORS, batch_size=calls, sizes={}, clip=True, accumulate=1,
        checkpoint=False, data=RESIDENT, loaders=0, storage=WARM,
    )  # fmt: skip
