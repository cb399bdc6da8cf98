"""The protocol that takes a step apart: a model, its operators and its longer forms, in turn in the
same process.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from mbench.contract.axes import BACKWARD, FORWARD
from mbench.contract.case import LONGER
from mbench.errors import UsageError, about
from mbench.spec.adaptive import Adaptive
from mbench.spec.parts import counts
from mbench.spec.planning import Comparison, supports

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mbench.contract.case import Case
    from mbench.spec.planning import Entry

__all__ = ["CALLS", "EMPTY", "Apart", "bare", "stage_of", "stages", "taken_apart"]

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
    """The comparison of a model, an empty step, one of each operator that the model is made of, in
    training one of each step that makes less than the whole one, and one of each form of the model
    in which a stage is longer.

    Raises UsageError where it is not known what a model is made of.
    """
    case = whole.entries[0].case
    with about("--models"):
        stands = counts(case.resolve(), batch_size=case.batch_size, mode=case.mode)
    numbers = numbered(whole)
    found: list[Comparison] = [whole, part(EMPTY, 1, whole, next(numbers), calls=1)]
    found += [part(name, times, whole, next(numbers)) for name, times in stands.items()]
    if case.mode == "train":
        for name, stage in stages(bare(case), case).items():
            if stage != case:
                found.append(step_up_to(name, whole, next(numbers)))
    for name, form in case.resolve().lengthened().items():
        found.append(longer(name, form.name, whole, next(numbers)))
    return found


def stages(least: Case, whole: Case) -> dict[str, Case]:
    """What a training step becomes by one thing more at a time: a forward pass, with a backward
    pass, with the update, with clipping, with dropout. Each is named by what it has more than
    the one before. The last is `whole`; `least` is that without clipping and dropout, as far as
    it has them.
    """
    found = {
        FORWARD: replace(least, phase=FORWARD),
        BACKWARD: replace(least, phase=BACKWARD),
        "update": replace(least, phase=""),
    }
    for name, field in (("clipping", "clip"), ("dropout", "dropout")):
        if getattr(least, field) != getattr(whole, field):
            last = list(found.values())[-1]
            found[name] = replace(last, **{field: getattr(whole, field)})
    return found


def bare(case: Case) -> Case:
    """`case` without clipping and dropout, where it has them."""
    workload = case.resolve()
    clips = workload.optimizer.clip_norm is not None
    drops = workload.config != workload.config.without_dropout()
    return replace(case, clip=case.clip and not clips, dropout=case.dropout and not drops)


def step_up_to(name: str, whole: Comparison, numbers: tuple[int, int]) -> Comparison:
    """A stage in place of the whole step, in each framework."""
    comparison, first = numbers
    return Comparison(
        number=comparison,
        title=f"{whole.title}, up to {name}",
        times=1,
        entries=tuple(
            entries_of(whole.entries, first, lambda case: stages(bare(case), case)[name])
        ),
    )


def longer(stage: str, model: str, whole: Comparison, numbers: tuple[int, int]) -> Comparison:
    """The form of that name in place of the whole model, in each framework."""
    comparison, first = numbers
    return Comparison(
        number=comparison,
        title=f"{whole.title}, {stage} twice",
        times=1,
        entries=tuple(entries_of(whole.entries, first, lambda case: replace(case, model=model))),
    )


def stage_of(model: str, whole: str) -> str:
    """Of a model's name, the stage by which it is longer than the whole; empty where it is not."""
    name, _, stage = model.partition(LONGER)
    return stage if name == whole else ""


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
        entries=tuple(
            entries_of(whole.entries, first, lambda case: case.of_operator(name, calls=calls))
        ),
    )


def entries_of(whole: Sequence[Entry], first: int, made: Callable[[Case], Case]) -> Iterator[Entry]:
    for number, entry in enumerate(whole, start=first):
        case = made(entry.case)
        support = supports(entry.adapter, case)
        yield replace(entry, number=number, case=case, support=support)
