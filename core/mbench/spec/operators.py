"""The operators of models: which ones a step calls, and comparisons of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mbench.contract.case import Case
from mbench.errors import UsageError, about
from mbench.scenarios.find import for_operators, plain_step, resolve, scenario_of
from mbench.spec.selection import load_workload
from mbench.workloads.find import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.axes import AxisValues

__all__ = ["FAMILIES", "operator_counts", "operators_of"]

FAMILIES = ("alexnet", "bert", "dit", "dlrm", "llama", "lstm", "mobilenet", "resnet", "vgg", "vit")
"""The families whose operators are known."""


def operator_counts(case: Case) -> Counter[str]:
    """How often a step calls each operator, by name; raises UsageError if that is not known."""
    workload = resolve(case)
    found = Counter(scenario_of(case, workload).operations(workload, case.batch_size))
    if not found:
        raise UsageError(
            f"the operators of {workload.name} are not known; they are known for the families "
            f"{', '.join(FAMILIES[:-1])} and {FAMILIES[-1]}"
        )
    return found


def operators_of(
    swept: Sequence[AxisValues], *, device: str
) -> list[tuple[AxisValues, dict[str, int]]]:
    """For each operator of the models in `swept`: the values by axis of its comparison, and how
    often each of these models calls it.

    Raises UsageError if operators are not known, or a batch size is still to be searched for.
    """
    batches = {asked["batch_size"] for asked in swept}
    if any(isinstance(size, str) for size in batches):
        raise UsageError(
            "the operators of a step depend on its batch size: give it as a number",
            option="--batch-size",
        )
    found: dict[tuple[object, ...], tuple[AxisValues, dict[str, int]]] = {}
    for asked in swept:
        model, batch_size = asked["model"], asked["batch_size"]
        whole = plain_step(Case(**asked))
        with about("--operators"):
            try:
                counts = operator_counts(whole)
            except ValueError as error:
                raise UsageError(str(error)) from None
        case = for_operators(whole)
        where = model if whole.mode == case.mode else f"{model} {whole.mode}"
        if len(batches) > 1:
            where = f"{where} at batch {batch_size}"
        for name, count in counts.items():
            operator = {
                **asked, "mode": case.mode, "scenario": case.scenario, "model": name,
                "workload": OPERATORS, "sizes": {}, "clip": True, "accumulate": 1,
                "checkpoint": False, "data": case.data, "loaders": 0, "storage": case.storage,
                "batch_size": load_workload(OPERATORS, name).usual_batch(device),
            }  # fmt: skip
            key = tuple(value for axis, value in operator.items() if axis != "sizes")
            found.setdefault(key, (operator, {}))[1][where] = count
    return list(found.values())
