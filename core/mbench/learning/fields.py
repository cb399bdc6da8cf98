"""The keys of a task's file: the values that each may have, and its default."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mbench.errors import UsageError
from mbench.plugins.manager import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.files import Toml

__all__ = ["CHOICES", "Field", "read_table"]

REQUIRED: Any = object()
NAMES = {int: "a whole number", float: "a number", str: "text", bool: "true or false",
         list: "a list", dict: "a table"}  # fmt: skip


class CHOICES(tuple[str, ...]):
    """The words that a key may have as its value."""

    def __new__(cls, *words: str) -> CHOICES:
        return super().__new__(cls, words)


@dataclass(frozen=True)
class Field:
    """A key: its type or permitted words, and its default if it is optional."""

    kind: type | CHOICES
    default: Any = REQUIRED
    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf

    def read(self, value: object) -> object:
        """The checked value; raises ValueError, which says what it should be."""
        if isinstance(self.kind, CHOICES):
            if value not in self.kind:
                raise ValueError(f"should be one of {', '.join(self.kind)}, not {value!r}")
            return value
        if self.kind is float and type(value) is int:
            value = float(value)
        if type(value) is not self.kind:
            raise ValueError(f"should be {NAMES[self.kind]}, not {value!r}")
        if isinstance(value, int | float) and not isinstance(value, bool):
            self.check(value)
        return value

    def check(self, value: float) -> None:
        if not math.isfinite(value):
            raise ValueError("should be finite")
        if value < self.least:
            raise ValueError(f"should be {self.least:g} or more, not {value:g}")
        if value > self.most:
            raise ValueError(f"should be {self.most:g} or less, not {value:g}")
        if value <= self.above:
            raise ValueError(f"should be above {self.above:g}, not {value:g}")


def read_table(file: Toml, name: str, fields: Mapping[str, Field]) -> dict[str, Any]:
    """A table of a task's file, with its defaults filled in; raises UsageError with the line."""
    table = file.table(name)
    for key in table:
        if key not in fields:
            raise file.wrong(f"unknown key{nearest(key, fields)}", key, table=name)
    found = {}
    for key, field in fields.items():
        if key not in table:
            if field.default is REQUIRED:
                raise UsageError(f"{file.source}: [{name}] lacks {key}")
            found[key] = field.default
            continue
        try:
            found[key] = field.read(table[key])
        except ValueError as error:
            raise file.wrong(str(error), key, table=name) from None
    return found
