"""The operators of models: which ones a step calls, and comparisons of these operators."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mbench.errors import UsageError, about
from mbench.scenarios.find import find_scenarios
from mbench.spec.selection import load_workload
from mbench.workloads.find import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.contract.axes import AxisValues
    from mbench.contract.workload import Workload

__all__ = ["FAMILIES", "operator_counts", "operators_of"]

FAMILIES = ("alexnet", "bert", "lstm", "mobilenet", "resnet", "vgg", "vit")
"""Whose operators are known."""


def operator_counts(workload: Workload, *, batch_size: int, training: bool) -> Counter[str]:
    """How often a step calls each operator, by name; raises UsageError where that is not known."""
    found = Counter(workload.operations(batch_size, training=training))
    if not found:
        raise UsageError(
            f"the operators of {workload.name} are not known; they are known for the families "
            f"{', '.join(FAMILIES[:-1])} and {FAMILIES[-1]}"
        )
    return found


def operators_of(
    swept: Sequence[AxisValues], workloads: Mapping[str, Workload], *, device: str
) -> list[tuple[AxisValues, dict[str, int]]]:
    """The values by axis of a comparison for each operator of the models in `swept`, with how often
    each of these models has it.

    Raises UsageError where operators are not known, or a batch size is still to be searched for.
    """
    batches = {asked["batch_size"] for asked in swept}
    if any(isinstance(size, str) for size in batches):
        raise UsageError(
            "the operators of a step depend on its batch size: give it in numbers",
            option="--batch-size",
        )
    found: dict[tuple[object, ...], tuple[AxisValues, dict[str, int]]] = {}
    for asked in swept:
        model, batch_size = asked["model"], asked["batch_size"]
        training = find_scenarios(asked["mode"], asked["scenario"])[0].training
        try:
            whole = workloads[model].resized(**asked["sizes"])
        except ValueError as error:
            raise UsageError(str(error)) from None
        where = model if len(batches) == 1 else f"{model} at batch {batch_size}"
        with about("--operators"):
            counts = operator_counts(whole, batch_size=batch_size, training=training)
        for name, count in counts.items():
            operator = {
                **asked, "model": name, "workload": OPERATORS, "sizes": {}, "clip": True,
                "accumulate": 1, "checkpoint": False,
                "batch_size": load_workload(OPERATORS, name).usual_batch(device),
            }  # fmt: skip
            key = tuple(value for axis, value in operator.items() if axis != "sizes")
            found.setdefault(key, (operator, {}))[1][where] = count
    return list(found.values())
