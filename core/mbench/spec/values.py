"""Reads the values of options: text as typed, or Python values.

Each function raises ValueError, whose message quotes the value as given.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TypeVar

__all__ = [
    "Reader",
    "choice",
    "count",
    "frameworks",
    "memory",
    "modes",
    "names",
    "numbers",
    "seconds",
    "share",
    "size",
    "sizes",
    "switch",
    "text",
    "whole",
]

T = TypeVar("T")
Reader = Callable[[object], object]

DURATIONS = {"h": 3600, "m": 60, "s": 1}
TIME = re.compile(r"(\d+(?:\.\d+)?) ?(h|hours?|m|mins?|minutes?|s|secs?|seconds?)(?![a-z])", re.I)
UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def text(value: object) -> str:
    if not isinstance(value, str | os.PathLike):
        raise ValueError(f"{value!r} is not text")
    return os.fspath(value)


def switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is not true or false")
    return value


def choice(*known: str) -> Callable[[object], str]:
    def read(value: object) -> str:
        if value not in known:
            raise ValueError(f"{str(value)!r} is not one of {', '.join(known)}")
        return str(value)

    return read


def whole(value: object, *, least: int = 1) -> int:
    """A whole number of `least` or more."""
    found = number(value, least=least)
    if found is None:
        raise ValueError(f"{str(value)!r} is not a whole number of {least} or more")
    return found


def count(value: object) -> int:
    """A whole number of 0 or more."""
    return whole(value, least=0)


def number(value: object, *, least: int) -> int | None:
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    return value if type(value) is int and value >= least else None


def numbers(*words: str, least: int = 1) -> Callable[[object], tuple[int | str, ...]]:
    """A reader of several whole numbers of `least` or more, which may include `words`."""

    def read_one(value: object) -> int | str:
        if isinstance(value, str) and value in words:
            return value
        found = number(value, least=least)
        if found is None:
            nor = "".join(f", nor {word}" for word in words)
            raise ValueError(f"{str(value)!r} is not a whole number of {least} or more{nor}")
        return found

    return lambda value: tuple(read_one(item) for item in items(value))


def names(value: object) -> tuple[str, ...]:
    """Several names: a list, or text with commas between them."""
    return tuple(text(item) for item in items(value))


def modes(value: object) -> tuple[str, ...]:
    """Several modes; "both" stands for train and inference."""
    found: list[str] = []
    for name in names(value):
        found += ["train", "inference"] if name == "both" else [name]
    return tuple(dict.fromkeys(found))


def items(value: object) -> list[object]:
    """The items of a list or of comma-separated text, none of them empty."""
    found: list[object] = []
    for item in value if isinstance(value, Iterable) and not isinstance(value, str) else [value]:
        found += [part.strip() for part in item.split(",")] if isinstance(item, str) else [item]
    if not found or "" in found:
        raise ValueError(f"{value!r} contains an empty item")
    return found


def frameworks(value: object) -> tuple[str, ...]:
    """Several frameworks with settings. In text, a comma within a setting's value is doubled."""
    if not isinstance(value, str):
        found = [text(item) for item in value] if isinstance(value, Iterable) else [text(value)]
    else:
        found = []
        for item in re.split(r"(?<!,),(?!,)", value):
            is_value = "=" in item.partition(",,")[0]
            found += [item.replace(",,", ",")] if is_value else item.split(",")
    found = [item.strip() for item in found]
    if not found or not all(found):
        raise ValueError(f"{value!r} contains an empty item")
    return tuple(found)


def seconds(value: object) -> float:
    """A finite time above 0, in seconds: a number, or text like "90s", "5 min" or "1h30m"."""
    found = math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        found = float(value)
    elif isinstance(value, str):
        parts = TIME.findall(value)
        with suppress(ValueError):
            found = float(value)
        if math.isnan(found) and parts and not TIME.sub("", value).strip():
            found = math.fsum(float(count) * DURATIONS[unit[0].lower()] for count, unit in parts)
    if not 0 < found < math.inf:
        raise ValueError(f"{str(value)!r} is not a time above 0 like 90, 90s, 5m or 1h")
    return found


def share(value: object, *, zero: bool = False) -> float:
    """A percentage below 100 %, as a share: "2%" or 0.02. 0 is allowed only with `zero`."""
    said = f"{100 * value:.10g}%" if isinstance(value, float) else str(value)
    before, sign, rest = said.partition("%")
    number = re.fullmatch(r"\d{1,2}(\.\d+)?", before)
    if not sign and number and (zero or float(before) > 0):
        meant, percent = f"{said}%", f"{100 * float(before):.10g}%"
        if 0 < float(before) < 0.1:
            meant = f"{percent} ({said}% is hardly reachable)"
        elif 0 < float(before) < 1:
            meant = f"{percent} or {said}%"
        raise ValueError(f"{said!r} has no unit: write {meant}")
    try:
        found = float(before) / 100 if not isinstance(value, float) else value
    except ValueError:
        found = -1.0
    if not sign or rest or not (0 < found < 1 or (zero and found == 0)):
        raise ValueError(f"{said!r} is not a percentage like 2% or 0.5%")
    return found


def memory(value: object) -> int:
    """An amount of memory in bytes: "6GiB", "500 MB", or a number."""
    if type(value) is int and value > 0:
        return value
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?) ?([A-Za-z]+)", str(value).strip())
    if not found or found[2].upper() not in UNITS or float(found[1]) == 0:
        raise ValueError(f"{str(value)!r} is not an amount of memory like 6GiB or 500MB")
    return int(float(found[1]) * UNITS[found[2].upper()])


def sizes(value: object) -> dict[str, int]:
    """Sizes of a model by name: a mapping, or one or more texts like "image_size=96"."""
    if isinstance(value, Mapping):
        return {name: whole(one) for name, one in value.items()}
    found: dict[str, int] = {}
    for item in value if isinstance(value, list | tuple) else [value]:
        name, _, number_ = str(item).partition("=")
        if not name or not number_.isdecimal() or int(number_) < 1:
            raise ValueError(f"{item!r} is not a size like image_size=96")
        if found.setdefault(name, int(number_)) != int(number_):
            raise ValueError(f"{name} is given as {found[name]} and as {number_}; give one of them")
    return found


def size(name: str) -> Callable[[object], dict[str, int]]:
    """A reader of one size, in the form that `sizes` returns."""
    return lambda value: {name: whole(value)}
