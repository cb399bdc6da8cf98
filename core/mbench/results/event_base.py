"""What all events of a run's file have: a kind, and the case or process that they belong to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from mbench.contract.quantities import Number

__all__ = ["Event", "OfCase", "OfProcess"]


@dataclass(frozen=True, kw_only=True)
class Event:
    """One line of a run's file; the docstring of each kind says when it is written."""

    kind: ClassVar[str]
    """Its name in the file."""

    def __init_subclass__(cls, **more: object) -> None:
        super().__init_subclass__(**more)
        cls.kind = re.sub("(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()


@dataclass(frozen=True, kw_only=True)
class OfCase(Event):
    case: Number
    """Number of the case in the run."""


@dataclass(frozen=True, kw_only=True)
class OfProcess(OfCase):
    process: Number
    """Number of the process among those of the case."""
