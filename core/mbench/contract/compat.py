"""What this part of mbench takes from Python that its oldest workers, of 3.7, do not have.

Frameworks that nobody builds any more need the Python of their time. Their workers read contract/,
sdk/, worker/ and workloads/, which is why those keep to what is here and to the syntax of 3.7.
Whatever else a newer Python has, the parent alone may use.
"""

from __future__ import annotations

import sys
import typing
from dataclasses import fields
from functools import partial, reduce
from importlib import import_module
from operator import mul
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "CHECKS",
    "Annotated",
    "Protocol",
    "hints_of",
    "prod",
    "runtime_checkable",
    "version_of",
    "zipped",
]

CHECKS = sys.version_info >= (3, 10)
"""Whether annotations can be read as types. Where they cannot, data is taken as its types say: a
worker trusts its parent, which checks all that the worker says."""

if TYPE_CHECKING or sys.version_info >= (3, 8):
    from math import prod
    from typing import Protocol, runtime_checkable
else:
    Protocol = object

    def prod(numbers: Iterable[int]) -> int:
        return reduce(mul, numbers, 1)

    def runtime_checkable(kind: type) -> type:
        return kind


if TYPE_CHECKING or sys.version_info >= (3, 9):
    from typing import Annotated
else:

    class Annotated:
        def __class_getitem__(cls, item: tuple[type, object]) -> type:
            return item[0]


if TYPE_CHECKING:
    zipped = zip
elif CHECKS:
    zipped = partial(zip, strict=True)
else:
    zipped = zip


def hints_of(kind: type) -> dict[str, Any]:
    """The types of a dataclass's fields, or where annotations cannot be read, their text."""
    if CHECKS:
        return typing.get_type_hints(kind, include_extras=True)
    return {field.name: field.type for field in fields(kind)}


def version_of(distribution: str) -> str | None:
    """Of one that is installed; None where it is not."""
    try:
        from importlib import metadata
    except ImportError:  # before 3.8
        known = import_module("pkg_resources").working_set.by_key.get(distribution.lower())
        return None if known is None else str(known.version)
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
