"""What this part of mbench needs from Python that its oldest workers, on 3.7, do not have.

Frameworks that nobody builds any more need the Python of their time. Their workers import
contract/, sdk/, worker/ and workloads/, so those use only what is here and the syntax of Python
3.7. Only the parent may use anything else that a newer Python has.
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
"""Whether annotations can be read as types. If not, data is assumed to match its types: a worker
trusts its parent, which checks everything that the worker sends."""

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
    """The types of a dataclass's fields by name, as text if annotations cannot be read."""
    if CHECKS:
        return typing.get_type_hints(kind, include_extras=True)
    return {field.name: field.type for field in fields(kind)}


def version_of(distribution: str) -> str | None:
    """The installed version; None if it is not installed."""
    try:
        from importlib import metadata
    except ImportError:  # before 3.8
        known = import_module("pkg_resources").working_set.by_key.get(distribution.lower())
        return None if known is None else str(known.version)
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
