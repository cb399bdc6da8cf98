"""The table of `mbench verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from mbench.contract.axes import MACHINE, hushed
from mbench.proofs.judge import CHECKS, IN_FLOAT64
from mbench.proofs.proof_case import PROVEN_AXES
from mbench.reports.formats import written
from mbench.reports.grid import Grid
from mbench.reports.terminal import Sentences, paragraphs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from mbench.measure.verification import CaseProof
    from mbench.proofs.locate import Located
    from mbench.results.proof import ProofRecord

__all__ = ["cell", "json", "render"]

MOST_TENSORS = 8
"""Most tensors in a table."""


def render(results: Sequence[CaseProof]) -> RenderableType:
    """One row per proof, one column per check with its largest error, then what failed."""
    cases = [result.entry.case for result in results]
    unsaid = MACHINE | hushed(cases, among=PROVEN_AXES)
    axes = [axis for axis in PROVEN_AXES if axis.name not in unsaid]
    columns = ("framework", *(axis.column for axis in axes), *CHECKS, "verdict")
    grid = Grid("", columns, numeric=frozenset(CHECKS), spare=tuple(CHECKS), all_in="--format json")
    for result in results:
        what = (result.entry.label, *(axis.text(result.entry.case) for axis in axes))
        checks = [cell(result.proof, check) for check in CHECKS]
        grid.rows.append([*what, *checks, verdict(result)])
    remarks = [line for result in results for line in remarks_on(result)]
    tables = [nearest(result.located) for result in results if result.located]
    return paragraphs([Group(grid, Sentences(remarks)), *tables])


def json(results: Sequence[CaseProof]) -> str:
    return written({"schema": 1, "proofs": [result.to_dict() for result in results]})


def verdict(result: CaseProof) -> Text:
    """The grade of a proof, or how it ended."""
    if result.outcome == "ok" and result.proof:
        return Text(result.proof.grade, "proven")
    return Text(result.outcome, "unproven" if result.outcome == "not-equal" else "failed")


def remarks_on(result: CaseProof) -> Iterator[Text]:
    name = f"{result.entry.label}, {result.entry.case.model} {result.entry.case.mode}"
    proof = result.proof
    if proof and proof.proven:
        yield Text(f"{name}: worst {worst(proof)}")
    if result.outcome == "not-equal" and proof:
        for failure in proof.failures:
            yield Text.assemble(("NOT PROVEN", "unproven"), f", {name}: {failure}")
    elif result.reason:
        yield Text.assemble(f"{name}: ", (result.outcome, "failed"), f": {result.reason}")
    for note in proof.notes if proof else ():
        yield Text(f"{name}: {note}")
    if result.located:
        yield Text(f"{name}: {result.located.said}")


def nearest(found: Located) -> Grid | None:
    """The tensors whose filling makes outputs agree best; None if no error is known."""
    errors = {name: error for name, error in found.errors.items() if error is not None}
    best = sorted(errors, key=errors.__getitem__)[:MOST_TENSORS]
    rows = [[name, f"{errors[name]:.1e}"] for name in best]
    columns = ("tensor", f"outputs off by, while it is {found.filled}")
    return Grid("", columns, rows) if best else None


def cell(proof: ProofRecord | None, check: str) -> str | Text:
    """The largest error of one check, or "FAILS" and the error of the first failure; "-" if the
    check was not made.
    """
    found = [one for one in proof.findings if one.check == check] if proof else []
    if not found:
        return "-"
    if failed := [one for one in found if not one.passed]:
        error = failed[0].error
        return Text("FAILS" + (f" {error:.1e}" if error is not None else ""), "unproven")
    errors = [one.error for one in found if one.error is not None]
    return f"{max(errors):.1e}" if errors else "n/a"


def worst(proof: ProofRecord) -> str:
    """The largest error in float64, or in fp32 in its place, and the largest as timed."""
    parts = []
    for checks, what in ((IN_FLOAT64, "in float64"), (("shown",), "in fp32"),
                         (("timed",), "as timed")):  # fmt: skip
        errors = {
            one.where: one.error for one in proof.findings if one.error and one.check in checks
        }
        if errors:
            where = max(errors, key=errors.__getitem__)
            parts.append(f"{what} {where} {errors[where]:.1e}")
    return "; ".join(parts) or "no error at all"
