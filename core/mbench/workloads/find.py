"""Finds workloads by reference, so that a worker can do it without plugins."""

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
"""Reference to a mapping that creates operators from their names; they are too many to list."""


def find_workload(reference: str, model: str) -> Workload:
    """The workload at "module:attribute", or the one named `model` if the attribute is a mapping. A
    variant with a longer stage comes from the `lengthened` of its model.
    """
    module, _, attribute = reference.partition(":")
    found = getattr(importlib.import_module(module), attribute)
    name, _, stage = model.partition(LONGER)
    workload: Workload = found[name] if isinstance(found, Mapping) else found
    return workload.lengthened()[stage] if stage else workload


def operator_case(case: Case, name: str, *, calls: int = 1) -> Case:
    """`case` with an operator in place of the model, called `calls` times in a step."""
    return dataclasses.replace(
        case, model=name, workload=OPERATORS, batch_size=calls, sizes={}, clip=True, accumulate=1,
        checkpoint=False, data=RESIDENT, loaders=0, storage=WARM,
    )  # fmt: skip
