"""The kernels that one step of each framework calls, as tables."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from mbench.contract.adapter import KERNEL
from mbench.reports.grid import Grid
from mbench.reports.text import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mbench.explain.kernels import StepKernels
    from mbench.explain.verbose import Kernel

__all__ = ["of_kernels", "short"]

LONGEST = 72
"""Most characters of a kernel's name that a table shows."""
DEPTH = 2
"""Levels of a kernel's templates that are shown: its own arguments, but not their arguments."""
OPENS, CLOSES = "<(", ">)"
LEFT_OUT = "…"
UNNAMED = "(anonymous namespace)::"
NAMESPACES = re.compile(r"(?:\w+::)+(?=\w)")
RETURNED = re.compile(r"^(?:void|\S*<.*>::type) (?=\w)")
BY_LIBRARIES = ("primitive", "propagation", "implementation", "calls", "MB in reorders")
BY_PROFILER = ("call", "name", "calls", "ms, profiled", "MB")
NOT_A_TIMING = (
    "milliseconds are those of the framework's own profiler, which slows a step down: they are "
    "evidence, not a timing"
)


def of_kernels(
    found: Sequence[StepKernels], *, most: int | None = None, whole: bool = False
) -> list[Grid]:
    """A table for each framework, and one for each of its observed stages. Tables from a profiler
    have the `most` kernels that took longest; their names are shortened unless `whole`.
    """
    made = []
    for one in found:
        evidence = one.evidence
        steps = {"one step": evidence.kernels} if one.asked or not evidence.stages else {}
        steps |= {f"stage {name}": kernels for name, kernels in evidence.stages.items()}
        for of, kernels in steps.items():
            if evidence.profiled:
                made.append(by_profiler(title(one, of), kernels, most=most, whole=whole))
            else:
                made.append(by_libraries(title(one, of), kernels))
        if one.reason:
            made[-1].note(one.reason)
    return made


def title(one: StepKernels, of: str) -> str:
    evidence = one.evidence
    sources = ", ".join(f"{name} {version}".strip() for name, version in evidence.libraries.items())
    none = "no profiler" if evidence.profiled else "no library that logs them"
    return f"{one.label}: kernels of {of}, by {sources or none}"


def by_libraries(title: str, kernels: Sequence[Kernel]) -> Grid:
    """A table with the most frequent kernels first."""
    made = Grid(title, BY_LIBRARIES)
    rows: dict[tuple[str, str, str], list[Kernel]] = {}
    for kernel in kernels:
        name = (kernel.primitive, kernel.propagation, kernel.implementation)
        rows.setdefault(name, []).append(kernel)
    for words, alike in sorted(rows.items(), key=lambda item: -calls(item[1])):
        made.rows.append([*words, calls(alike), megabytes(alike) or None])
    return made


def by_profiler(title: str, kernels: Sequence[Kernel], *, most: int | None, whole: bool) -> Grid:
    """A table with the kernels that took longest first."""
    made = Grid(title, BY_PROFILER)
    rows: dict[tuple[str, str], list[Kernel]] = {}
    for kernel in kernels:
        kind, name = kernel.primitive, kernel.implementation
        shown = short(name) if kind == KERNEL and not whole else name
        rows.setdefault((kind, shown), []).append(kernel)
    for words, alike in sorted(rows.items(), key=lambda item: -milliseconds(item[1])):
        made.rows.append([*words, calls(alike), milliseconds(alike), megabytes(alike)])
    if made.rows:
        made.note(f"in total: {by_kind(kernels)}; {NOT_A_TIMING}")
    if left := len(made.rows[most:] if most is not None else ()):
        del made.rows[most:]
        made.note(f"{left} more names are in --format csv, and all launches in --format json")
    return made


def by_kind(kernels: Sequence[Kernel]) -> str:
    """How many calls there are of each kind: "41 x kernel, 2 x copy host to device (0.01 MB)"."""
    kinds: dict[str, list[Kernel]] = {}
    for kernel in kernels:
        kinds.setdefault(kernel.primitive, []).append(kernel)
    words = []
    for kind, alike in kinds.items():
        moved = megabytes(alike)
        words.append(f"{calls(alike)} x {kind}" + (f" ({number(moved, 3)} MB)" if moved else ""))
    return ", ".join(words)


def calls(kernels: Iterable[Kernel]) -> int:
    return sum(kernel.count for kernel in kernels)


def milliseconds(kernels: Iterable[Kernel]) -> float:
    return math.fsum(kernel.milliseconds for kernel in kernels)


def megabytes(kernels: Iterable[Kernel]) -> float | None:
    """None if no kernel is known to move any bytes."""
    moved = [kernel.moved_bytes for kernel in kernels if kernel.moved_bytes is not None]
    return sum(moved) / 1e6 if moved else None


def short(name: str) -> str:
    """A kernel's name without namespaces, return type, arguments and inner templates.

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
            if opened and OPENS.index(opened[-1]) == CLOSES.index(letter):  # otherwise an arrow
                opened.pop()
                if "(" not in opened and letter == ">" and len(opened) < DEPTH:
                    kept += letter
        elif "(" not in opened and len(opened) < DEPTH:
            kept += letter
    text = RETURNED.sub("", NAMESPACES.sub("", "".join(kept)).replace(" >", ">").strip())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + LEFT_OUT
