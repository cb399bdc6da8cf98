"""The operators that models are made of, and how often each stands there."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from mbench.contract.case import OPERATORS
from mbench.errors import UsageError, about
from mbench.spec.selection import load_workload

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.workloads.workload import Workload

__all__ = ["FAMILIES", "counts", "parts_of"]

FAMILIES = ("alexnet", "bert", "lstm", "mobilenet", "resnet", "vgg")
"""Whose operators are written down."""


def counts(workload: Workload, *, batch_size: int, mode: str) -> Counter[str]:
    """The operators of a model by name; raises UsageError where nobody wrote them down."""
    found = Counter(workload.operations(batch_size, mode=mode))
    if not found:
        raise UsageError(
            f"nobody wrote down which operators {workload.name} is made of; "
            f"of the families {', '.join(FAMILIES[:-1])} and {FAMILIES[-1]} it is known"
        )
    return found


def parts_of(
    swept: Sequence[Mapping[str, Any]], workloads: Mapping[str, Workload], *, device: str
) -> list[tuple[dict[str, Any], dict[str, int]]]:
    """What comparisons of models are asked to be, by axis, asked of their operators instead: each
    once, and how often it stands in each model.

    Raises UsageError where that is not known, or a batch size is still to be found.
    """
    batches = {asked["batch_size"] for asked in swept}
    if any(isinstance(size, str) for size in batches):
        raise UsageError(
            "operators are those of a step of known size: give batch sizes in numbers",
            option="--batch-size",
        )
    found: dict[tuple[Any, ...], tuple[dict[str, Any], dict[str, int]]] = {}
    for asked in swept:
        model, batch_size, mode = asked["model"], asked["batch_size"], asked["mode"]
        try:
            whole = workloads[model].resized(**asked["sizes"])
            whole = whole.suited(batch_size=batch_size, mode=mode)
        except ValueError as error:
            raise UsageError(str(error)) from None
        where = model if len(batches) == 1 else f"{model} at batch {batch_size}"
        with about("--operators"):
            stands = counts(whole, batch_size=batch_size, mode=mode)
        for name, times in stands.items():
            part = {
                **asked, "model": name, "workload": OPERATORS, "sizes": {}, "clip": True,
                "batch_size": load_workload(OPERATORS, name).usual_batch(device),
            }  # fmt: skip
            key = tuple(value for axis, value in part.items() if axis != "sizes")
            found.setdefault(key, (part, {}))[1][where] = times
    return list(found.values())
