"""The protocol that takes a step apart: a model and its operators, in turn in the same process."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from mbench.errors import UsageError, about
from mbench.plan.adaptive import Adaptive
from mbench.plan.parts import counts
from mbench.plan.plan import Comparison, supports
from mbench.plan.selection import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mbench.plan.plan import Entry

__all__ = ["CALLS", "EMPTY", "Apart", "taken_apart"]

CALLS = 4
"""Of an operator in a step: what a step costs beside its calls weighs little, and is measured."""
EMPTY = "op:add/1x1"
"""What costs nothing but a step: one call on one number."""


@dataclass(frozen=True, kw_only=True)
class Apart(Adaptive):
    """Each framework's one process of a set measures all cases in turn, in an order of its own."""

    together: ClassVar[bool] = True

    name: str = "apart"
    rounds: int | None = 5
    block_seconds: float = 0.1
    budget_seconds: float = 1800.0

    def __post_init__(self) -> None:
        if self.half_width_goal is not None or self.builds != 1:
            raise UsageError(
                "a step is taken apart in a number of sets: give --processes, and leave out "
                "--until, --rigorous and --builds"
            )


def taken_apart(whole: Comparison) -> list[Comparison]:
    """The comparison of a model, an empty step, and one of each operator that the model is made of.

    Raises UsageError where it is not known what a model is made of.
    """
    case = whole.entries[0].case
    with about("--models"):
        stands = counts(case.resolve(), batch_size=case.batch_size, mode=case.mode)
    numbers = numbered(whole)
    found: list[Comparison] = [whole, part(EMPTY, 1, whole, next(numbers), calls=1)]
    found += [part(name, times, whole, next(numbers)) for name, times in stands.items()]
    return found


def numbered(whole: Comparison) -> Iterator[tuple[int, int]]:
    """Of each part, its own number and that of its first case."""
    comparison = whole.number
    first = whole.entries[-1].number + 1
    while True:
        comparison += 1
        yield comparison, first
        first += len(whole.entries)


def part(
    name: str, times: int, whole: Comparison, numbers: tuple[int, int], *, calls: int = CALLS
) -> Comparison:
    comparison, first = numbers
    return Comparison(
        number=comparison,
        title=f"{name} ({times} times)",
        times=times,
        entries=tuple(entries(name, whole.entries, first, calls=calls)),
    )


def entries(name: str, whole: Sequence[Entry], first: int, *, calls: int) -> Iterator[Entry]:
    for number, entry in enumerate(whole, start=first):
        case = replace(
            entry.case, model=name, workload=OPERATORS, batch_size=calls, sizes={}, clip=True
        )
        support = supports(entry.adapter, case)
        yield replace(entry, number=number, case=case, support=support)
