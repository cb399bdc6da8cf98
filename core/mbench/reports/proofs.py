"""The table of `mbench verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.text import Text

from mbench.contract.axes import MACHINE, hushed
from mbench.proofs.judge import CHECKS, IN_FLOAT64
from mbench.proofs.proof_case import PROVEN_AXES
from mbench.reports.grid import Grid
from mbench.reports.terminal import Sentences, paragraphs

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["cell", "render"]

MOST_TENSORS = 8
"""Of a table of them."""


def render(results: list[dict[str, Any]]) -> RenderableType:
    """One row per proof, one column per check with its largest error, then what failed."""
    unsaid = MACHINE | hushed(results, among=PROVEN_AXES)
    axes = [axis for axis in PROVEN_AXES if axis.name not in unsaid]
    columns = ("framework", *(axis.column for axis in axes), *CHECKS, "verdict")
    grid = Grid("", columns, numeric=frozenset(CHECKS), spare=tuple(CHECKS), all_in="--format json")
    remarks: list[str | Text] = []
    tables: list[Grid] = []
    for result in results:
        name = f"{result['framework']}, {result['model']} {result['mode']}"
        proof = result["proof"]
        cells = [cell(proof, check) for check in CHECKS]
        what = (result["framework"], *(axis.text(result) for axis in axes))
        grid.rows.append([*what, *cells, verdict(result)])
        if proof and proof["proven"]:
            remarks.append(f"{name}: worst {worst(proof)}")
        if result["outcome"] == "not-equal":
            remarks += [Text.assemble(("NOT PROVEN", "unproven"), f", {name}: {failure}")
                        for failure in proof["failures"]]  # fmt: skip
        elif result["reason"]:
            ended = (result["outcome"], "failed")
            remarks.append(Text.assemble(f"{name}: ", ended, f": {result['reason']}"))
        remarks += [f"{name}: {note}" for note in (proof["notes"] if proof else [])]
        if found := result.get("located"):
            remarks.append(f"{name}: {found['said']}")
            tables += nearest(found)
    return paragraphs([Group(grid, Sentences(remarks)), *tables])


def verdict(result: dict[str, Any]) -> Text:
    """The grade of a proof, else how it ended."""
    if result["outcome"] == "ok":
        return Text(result["proof"]["grade"], "proven")
    return Text(result["outcome"], "unproven" if result["outcome"] == "not-equal" else "failed")


def nearest(found: dict[str, Any]) -> list[Grid]:
    """The tensors with which outputs agree best while they are filled, if any was."""
    errors = {name: error for name, error in found["errors"].items() if error is not None}
    best = sorted(errors, key=lambda name: errors[name])[:MOST_TENSORS]
    rows = [[name, f"{errors[name]:.1e}"] for name in best]
    columns = ("tensor", f"outputs off by, while it is {found['filled']}")
    return [Grid("", columns, rows)] if best else []


def cell(proof: dict[str, Any] | None, check: str) -> str | Text:
    """The largest error of one check, "FAILS" before it where it fails; "-" where not made."""
    found = [f for f in proof["findings"] if f["check"] == check] if proof else []
    if not found:
        return "-"
    if failed := [f for f in found if not f["passed"]]:
        error = failed[0]["error"]
        return Text("FAILS" + (f" {error:.1e}" if error is not None else ""), "unproven")
    errors = [f["error"] for f in found if f["error"] is not None]
    return f"{max(errors):.1e}" if errors else "n/a"


def worst(proof: dict[str, Any]) -> str:
    """The largest error in float64, or in fp32 in its place, and the largest as timed."""
    parts = []
    told = ((IN_FLOAT64, "in float64"), (("shown",), "in fp32"), (("timed",), "as timed"))
    for checks, what in told:
        of = [f for f in proof["findings"] if f["error"] and f["check"] in checks]
        if of:
            found = max(of, key=lambda f: f["error"])
            parts.append(f"{what} {found['where']} {found['error']:.1e}")
    return "; ".join(parts) or "no error at all"
