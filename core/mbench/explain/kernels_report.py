"""Which kernels one step of each framework calls, as tables: as libraries or a profiler told."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from mbench.contract.trace import KERNEL
from mbench.reports.grid import Grid
from mbench.reports.text import number

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["of_kernels", "short"]

Document = dict[str, Any]
LONGEST = 72
"""Letters of a kernel's name that a table shows."""
DEPTH = 2
"""To which a kernel's templates are shown: what is in those of its own."""
OPENS, CLOSES = "<(", ">)"
LEFT_OUT = "…"
UNNAMED = "(anonymous namespace)::"
NAMESPACES = re.compile(r"(?:\w+::)+(?=\w)")
RETURNED = re.compile(r"^(?:void|\S*<.*>::type) (?=\w)")
BY_LIBRARIES = ("primitive", "propagation", "implementation", "calls", "MB in reorders")
BY_PROFILER = ("call", "name", "calls", "ms, profiled", "MB")
NO_TIMING = (
    "milliseconds are those of the framework's own profiler, which slows a step down: they are "
    "evidence, and no timing"
)


def of_kernels(document: Document, *, most: int | None = None, whole: bool = False) -> list[Grid]:
    """A table for each framework. What a profiler told is there by name, the longest first, at
    `most` so many names, which are shortened unless `whole`.
    """
    made = []
    for one in document["kernels"]:
        if one["profiled"]:
            made.append(by_profiler(one, most=most, whole=whole))
        else:
            made.append(by_libraries(one))
        if one["reason"]:
            made[-1].note(one["reason"])
    return made


def title(one: Document) -> str:
    libraries = ", ".join(f"{name} {version}".strip() for name, version in one["libraries"].items())
    nobody = "no profiler" if one["profiled"] else "no library that tells"
    return f"{one['label']}: kernels of one step, by {libraries or nobody}"


def by_libraries(one: Document) -> Grid:
    """The most frequent first."""
    made = Grid(title(one), BY_LIBRARIES)
    rows: dict[tuple[str, ...], list[float]] = {}
    for kernel in one["kernels"]:
        name = (kernel["primitive"], kernel["propagation"], kernel["implementation"])
        row = rows.setdefault(name, [0, 0.0])
        row[0] += kernel["count"]
        row[1] += (kernel["moved_bytes"] or 0.0) / 1e6
    for words, (calls, moved) in sorted(rows.items(), key=lambda item: -item[1][0]):
        made.rows.append([*words, int(calls), moved or None])
    return made


def by_profiler(one: Document, *, most: int | None, whole: bool) -> Grid:
    made = Grid(title(one), BY_PROFILER)
    rows: dict[tuple[str, str], list[Document]] = {}
    for kernel in one["kernels"]:
        kind, name = kernel["primitive"], kernel["implementation"]
        shown = short(name) if kind == KERNEL and not whole else name
        rows.setdefault((kind, shown), []).append(kernel)
    for words, alike in sorted(rows.items(), key=lambda item: -milliseconds(item[1])):
        made.rows.append([*words, calls(alike), milliseconds(alike), megabytes(alike)])
    if made.rows:
        made.note(f"in all: {spoken(one['kernels'])}; {NO_TIMING}")
    if left := len(made.rows[most:] if most is not None else ()):
        del made.rows[most:]
        made.note(f"{left} more names are in --format csv, and all launches in --format json")
    return made


def spoken(kernels: list[Document]) -> str:
    """How many calls there are of each kind: "41 x kernel, 2 x copy host to device (0.01 MB)"."""
    kinds: dict[str, list[Document]] = {}
    for kernel in kernels:
        kinds.setdefault(kernel["primitive"], []).append(kernel)
    said = []
    for kind, alike in kinds.items():
        moved = megabytes(alike)
        said.append(f"{calls(alike)} x {kind}" + (f" ({number(moved, 3)} MB)" if moved else ""))
    return ", ".join(said)


def calls(kernels: Iterable[Document]) -> int:
    return sum(kernel["count"] for kernel in kernels)


def milliseconds(kernels: Iterable[Document]) -> float:
    return math.fsum(kernel["milliseconds"] for kernel in kernels)


def megabytes(kernels: Iterable[Document]) -> float | None:
    moved = [kernel["moved_bytes"] for kernel in kernels if kernel["moved_bytes"] is not None]
    return sum(moved) / 1e6 if moved else None


def short(name: str) -> str:
    """A kernel's name without namespaces, and without what it returns, takes and is made from.

    "void a::k<4, b::F<float> >(int, b::F<float>)" becomes "k<4, F<…>>".
    """
    kept: list[str] = []
    opened: list[str] = []
    for letter in name.replace(UNNAMED, ""):
        if letter in OPENS:
            if "(" not in opened and letter == "<" and len(opened) < DEPTH:
                kept += letter if len(opened) + 1 < DEPTH else letter + LEFT_OUT
            opened.append(letter)
        elif letter in CLOSES:
            if opened and OPENS.index(opened[-1]) == CLOSES.index(letter):  # else it is an arrow
                opened.pop()
                if "(" not in opened and letter == ">" and len(opened) < DEPTH:
                    kept += letter
        elif "(" not in opened and len(opened) < DEPTH:
            kept += letter
    said = RETURNED.sub("", NAMESPACES.sub("", "".join(kept)).replace(" >", ">").strip())
    return said if len(said) <= LONGEST else said[: LONGEST - 1] + LEFT_OUT
