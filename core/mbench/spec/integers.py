"""Refuses int8 if no requested framework supports it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.precision import PRECISIONS
from mbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.adapter import Support
    from mbench.contract.case import Case

__all__ = ["check_integers"]


def check_integers(planned: Sequence[tuple[Case, Support]]) -> None:
    """Raises UsageError if all cases use integers and none of them is supported."""
    every = all(PRECISIONS[case.precision].quantized for case, _ in planned)
    if every and not any(support.supported for _, support in planned):
        reasons = dict.fromkeys(support.reason for _, support in planned)
        raise UsageError("; ".join(reasons), option="--precision")
