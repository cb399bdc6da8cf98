"""Where the difference of two steps is found: sentences, and tables by phase, depth, kind and
operator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mbench.explain.kernels_report import of_kernels
from mbench.reports import grid as grids
from mbench.reports import json
from mbench.reports.along import phases, stages
from mbench.reports.grid import Grid
from mbench.reports.terminal import folded, terminal_width
from mbench.reports.text import number, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FORMATS"]

Document = dict[str, Any]
MOST = 15
"""Operators that a table shows, those with the largest differences, and names of kernels; CSV and
JSON have all."""
COLUMNS = ("times", "baseline ms", "other ms", "difference ms", "interval", "of the difference")


def sentences(found: Document) -> Iterator[str]:
    base, other = found["baseline"], found["framework"]
    if not found["sets"]:
        yield f"{other} against {base}: no set has all parts of both"
        return
    whole = found["difference_ms"]
    more = "longer" if whole["value"] >= 0 else "less"
    yield (
        f"A step of {other} takes {amount(whole, absolute=True)} {more} than one of {base}: "
        f"{number(found['other_ms'], 4)} against {number(found['baseline_ms'], 4)} ms, "
        f"over {found['sets']} sets of processes."
    )
    if whole["low"] is None:
        yield "Two sets make no interval: give --processes 3 or more."
        return
    if not whole["shown"]:
        yield "So no difference of whole steps is shown; parts may differ, and cancel."
    for one in shown(found["phases"]):
        yield f"{amount(one['difference_ms'])} of it is found in {spoken(one['phase'])}."
    for one in shown(found["stages"])[:3]:
        yield f"{amount(one['difference_ms'])} of it is found in the blocks of {one['stage']}."
    if found["rest"]:
        yield f"{amount(found['rest']['difference_ms'])} is found in no block of a stage."
    for one in shown(found["kinds"])[:3]:
        yield f"{amount(one['difference_ms'])} of it is found in {one['kind']}."
    residual = found["residual"]["difference_ms"]
    share = abs(residual["value"]) / max(found["baseline_ms"], found["other_ms"])
    yield (f"{amount(residual)} is found in no operator by itself: {share:.0%} of the longer step.")


def shown(parts: list[Document]) -> list[Document]:
    """Those whose interval leaves out 0, the largest first."""
    return by_size([one for one in parts if one["difference_ms"]["shown"]])


def spoken(phase: str) -> str:
    return {
        "forward": "the forward pass", "backward": "the backward pass", "update": "the update"
    }.get(phase, phase)  # fmt: skip


def amount(found: Document, *, absolute: bool = False) -> str:
    """A time with its interval."""
    value, ends = found["value"], [found["low"], found["high"]]
    if absolute and value < 0:
        value, ends = -value, [None if end is None else -end for end in reversed(ends)]
    said = f"{number(value, 3)} ms"
    return said if ends[0] is None else f"{said} ({number(ends[0], 3)} .. {number(ends[1], 3)})"


def row(name: str, one: Document, whole: float, *, times: int | None = None) -> list[Any]:
    found = one["difference_ms"]
    ends = (
        "" if found["low"] is None else f"{number(found['low'], 3)} .. {number(found['high'], 3)}"
    )
    return [
        name,
        times,
        one["baseline_ms"],
        one["other_ms"],
        number(found["value"], 3),
        ends,
        f"{found['value'] / whole:.0%}" if whole else "",
    ]


def tables(found: Document, *, most: int | None = MOST) -> list[Grid]:
    """By phase, by depth, by kind with what is left, then by operator."""
    if not found["sets"]:
        return []
    whole = found["difference_ms"]["value"]
    who = f"{found['framework']} against {found['baseline']}"
    numeric = frozenset(COLUMNS)
    by_kind = Grid(f"{who}: where the difference is found", ("kind", *COLUMNS), numeric=numeric)
    for one in by_size(found["kinds"]):
        by_kind.rows.append(row(one["kind"], one, whole, times=one["times"]))
    by_kind.rows.append(row("an empty step", found["empty"], whole))
    by_kind.rows.append(row("no operator by itself", found["residual"], whole))
    by_kind.rows.append(row("a whole step", found, whole))
    operators = by_size(found["operators"])
    left = len(operators) - len(operators[:most])
    tail = f", the {most} largest differences of {len(operators)}" if left else ""
    by_name = Grid(f"{who}: by operator{tail}", ("operator", *COLUMNS), numeric=numeric)
    for one in operators[:most]:
        by_name.rows.append(row(one["operator"], one, whole, times=one["times"]))
    along = {"phase": phases(found), "depth": stages(found)}
    return [*(of_steps(found, who, by, rows) for by, rows in along.items() if rows),
            by_kind, by_name]  # fmt: skip


def of_steps(found: Document, who: str, by: str, rows: list[tuple[str, Document]]) -> Grid:
    """What was made of whole steps, which stands once in each."""
    made = Grid(f"{who}: by {by}", (by, *COLUMNS[1:]), numeric=frozenset(COLUMNS))
    for name, one in [*rows, ("a whole step", found)]:
        cells = row(name, one, found["difference_ms"]["value"])
        made.rows.append([cells[0], *cells[2:]])
    return made


def by_size(parts: list[Document]) -> list[Document]:
    return sorted(parts, key=lambda one: -abs(one["difference_ms"]["value"]))


def notes(document: Document) -> Iterator[str]:
    for case in document["cases"]:
        if case["reason"]:
            yield f"{case['label']}: {case['outcome']}: {case['reason']}"
        elif not case["proven"]:
            yield f"{case['label']}: its work is not proven equal"
    for one in document["missing"]:
        yield f"{one['label']} lacks {one['part']}: {one['reason']}"
    if document["differences"]:
        yield (
            "The intervals of a table hold together with 95 % (Bonferroni). Operators were timed "
            "by themselves, in the processes that timed the whole step; what a framework fuses, or "
            "does besides, is found in no operator by itself."
        )
        if not document["lengthened"]:
            yield "Depth is left out: the run has no form of the model with a longer stage."
        elif any(found["stages"] for found in document["differences"] if found["sets"]):
            yield (
                "A stage's row is what the model takes longer with so many blocks more in that "
                "stage. What the first block of a stage has besides, such as a shortcut, is in no "
                "row of a stage."
            )


def headline(document: Document) -> list[str]:
    return [document["comparison"], *(s for d in document["differences"] for s in sentences(d))]


def table(document: Document) -> str:
    width = terminal_width()
    made = [grid for found in document["differences"] for grid in tables(found)]
    made += of_kernels(document, most=MOST)
    last = [*notes(document), f"run {document['run']}, {document['status']}"]
    parts = [plain("\n".join(folded(headline(document), width)))]
    parts += [grids.table([one]) for one in made]
    return "\n".join([*parts, plain("\n".join(folded(last, width)))])


def markdown(document: Document) -> str:
    made = [grid for found in document["differences"] for grid in tables(found)]
    made += of_kernels(document, most=MOST)
    said = "\n".join(f"- {text}" for text in headline(document))
    rest = "\n".join(f"- {text}" for text in notes(document))
    return "\n\n".join([said, *([grids.markdown(made).rstrip()] if made else []), rest]) + "\n"


def as_csv(document: Document) -> str:
    made = [grid for found in document["differences"] for grid in tables(found, most=None)]
    return grids.as_csv([*made, *of_kernels(document, whole=True)])


def html(document: Document) -> str:
    from mbench.reports.html.waterfall import render

    made = [grid for found in document["differences"] for grid in tables(found, most=None)]
    last = [*notes(document), f"run {document['run']}, {document['status']}"]
    return render(
        document, headline=headline(document), grids=[*made, *of_kernels(document)], notes=last
    )


FORMATS = {
    "table": table, "markdown": markdown, "csv": as_csv, "json": json.render, "html": html
}  # fmt: skip
