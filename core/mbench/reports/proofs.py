"""The table of `mbench verify`."""

from __future__ import annotations

from typing import Any

from mbench.contract.axes import MACHINE, hushed
from mbench.proofs.judge import CHECKS, IN_FLOAT64
from mbench.proofs.proof_case import PROVEN_AXES
from mbench.reports.grid import Grid, drawn
from mbench.reports.terminal import folded, terminal_width
from mbench.reports.text import plain

__all__ = ["render"]

MOST_TENSORS = 8
"""Of a table of them."""


def render(results: list[dict[str, Any]]) -> str:
    """One row per proof, one column per check with its largest error, then what failed."""
    width = terminal_width()
    unsaid = MACHINE | hushed(results, among=PROVEN_AXES)
    axes = [axis for axis in PROVEN_AXES if axis.name not in unsaid]
    columns = ("framework", *(axis.column for axis in axes), *CHECKS, "verdict")
    grid = Grid("", columns, numeric=frozenset(CHECKS), spare=tuple(CHECKS), all_in="--format json")
    remarks: list[str] = []
    tables: list[str] = []
    for result in results:
        name = f"{result['framework']}, {result['model']} {result['mode']}"
        proof = result["proof"]
        cells = [cell(proof, check) for check in CHECKS]
        verdict = proof["grade"] if result["outcome"] == "ok" else result["outcome"]
        what = (result["framework"], *(axis.text(result) for axis in axes))
        grid.rows.append([*what, *cells, verdict])
        if proof and proof["proven"]:
            remarks.append(f"{name}: worst {worst(proof)}")
        if result["outcome"] == "not-equal":
            remarks += [f"NOT PROVEN, {name}: {failure}" for failure in proof["failures"]]
        elif result["reason"]:
            remarks.append(f"{name}: {result['outcome']}: {result['reason']}")
        remarks += [f"{name}: {note}" for note in (proof["notes"] if proof else [])]
        if found := result.get("located"):
            remarks.append(f"{name}: {found['said']}")
            tables += nearest(found, width)
    return plain("\n".join([*drawn(grid, width=width), *folded(remarks, width), *tables]))


def nearest(found: dict[str, Any], width: int) -> list[str]:
    """The tensors with which outputs agree best while they are filled, if any was."""
    errors = {name: error for name, error in found["errors"].items() if error is not None}
    best = sorted(errors, key=lambda name: errors[name])[:MOST_TENSORS]
    grid = Grid("", ("tensor", f"outputs off by, while it is {found['filled']}"))
    grid.rows.extend([name, f"{errors[name]:.1e}"] for name in best)
    return ["", *drawn(grid, width=width)] if best else []


def cell(proof: dict[str, Any] | None, check: str) -> str:
    """The largest error of one check, "FAILS" before it where it fails; "-" where not made."""
    found = [f for f in proof["findings"] if f["check"] == check] if proof else []
    if not found:
        return "-"
    if failed := [f for f in found if not f["passed"]]:
        return "FAILS" + (f" {failed[0]['error']:.1e}" if failed[0]["error"] is not None else "")
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
