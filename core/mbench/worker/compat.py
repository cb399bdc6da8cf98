"""Dataclasses for workers with a Python older than 3.10, in which fields cannot be keyword-only.

Imported before any module of mbench but contract/compat.py; frameworks do not notice the additional
parameters.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["teach"]

LACKING = "_lacking"
plain = dataclasses.dataclass


def teach() -> None:
    """Let `dataclasses.dataclass` accept `kw_only` and `slots`, the latter without effect."""
    dataclasses.dataclass = dataclass  # type: ignore[assignment]


def dataclass(
    kind: type | None = None, *, kw_only: bool = False, slots: bool = False, **settings: bool
) -> type | Callable[[type], type]:
    def make(kind: type) -> type:
        return by_keyword(kind, settings) if kw_only else plain(kind, **settings)

    return make if kind is None else make(kind)


def by_keyword(kind: type, settings: dict[str, bool]) -> type:
    """A dataclass whose fields may have defaults in any order.

    A field without a default gets one that is never used: creating an instance without a value for
    that field raises TypeError.
    """
    none = dataclasses.MISSING
    required = set(getattr(kind, LACKING, ()))
    own = vars(kind)
    for name in list(own.get("__annotations__", {})):
        value = own.get(name, none)
        if value is none:
            setattr(kind, name, None)
        elif (
            isinstance(value, dataclasses.Field) and value.default is value.default_factory is none
        ):
            value.default = None
        else:
            required.discard(name)
            continue
        required.add(name)
    made: type = plain(kind, **settings)
    init: Callable[..., None] = made.__init__  # type: ignore[misc]

    def __init__(self: object, **values: object) -> None:  # noqa: N807
        lacking = required - set(values)
        if lacking:
            raise TypeError(f"{type(self).__name__} lacks {', '.join(sorted(lacking))}")
        init(self, **values)

    made.__init__ = __init__  # type: ignore[misc]
    setattr(made, LACKING, frozenset(required))
    return made
