"""Who has the next turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

__all__ = ["next_round"]

T = TypeVar("T")


def next_round(ones: Sequence[T], *, last: T | None, chance: Random) -> list[T]:
    """One turn of each of `ones`, in an order by `chance` that `last` is not the first of.

    So nobody has two turns in a row. A second one would lie further from the others' turns, with
    which it is compared, and is likely to find its own memory in the caches. Two alternate.
    """
    order = chance.sample(ones, len(ones))
    while len(order) > 1 and order[0] is last:
        order = chance.sample(ones, len(ones))
    return order
