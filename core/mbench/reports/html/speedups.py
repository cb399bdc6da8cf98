"""What reduced precision and other compilers gain, each framework against itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench import stats
from mbench.contract.axes import key
from mbench.reports.cases import is_reduced, measured, named, shared_axes, unspoken
from mbench.reports.grid import Grid
from mbench.reports.html.parts import Chart, Figure, Section, captioned
from mbench.reports.text import digits_of, interval, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mbench.results.case_summary import CaseSummary
    from mbench.results.summary import Summary

__all__ = ["speedups"]


def speedups(summary: Summary) -> Section | None:
    """What reduced precision and other compilers gain, each against the same case without them."""
    columns = ("case", "framework", "gain from", "over", "speed-up", "95 % interval")
    table, rows = [], []
    less = {*unspoken(summary.cases), *shared_axes(summary.cases)}
    for what, over, base, case in gains(measured(summary)):
        if base.throughput is None or case.throughput is None:
            continue
        gain = stats.contrast(base.throughput.processes, case.throughput.processes)
        ends = interval(gain.low, gain.high)
        text = number(gain.value, digits_of(gain.low, gain.high))
        table.append([named(case, less=less), case.label, what, over, text, ends])
        rows.append(
            {"group": captioned(f"{what} over {over}",
                                named(case, less={"precision", "compiler", *less})),
             "name": case.label, "series": case.label, "value": gain.value,
             "low": gain.low, "high": gain.high, "dots": [], "text": text}
        )  # fmt: skip
    if not rows:
        return None
    label = "times as fast"
    data = {"kind": "intervals", "rows": rows, "log": True, "reference": 1, "label": label}
    figure = Figure(
        charts=[Chart(data, f"{len(rows)} speed-ups from precisions and compilers.")],
        table=Grid("Speed-ups within one framework", columns, table,
                    numeric=frozenset({"speed-up", "95 % interval"})),
    )  # fmt: skip
    lead = (
        "Each framework against itself. These cases did not take turns, so a drift of the machine "
        "between them affects the numbers."
    )
    return Section("speedups", "Mixed precision and compilers", lead, [figure])


def gains(cases: Sequence[CaseSummary]) -> Iterator[tuple[str, str, CaseSummary, CaseSummary]]:
    """Yields the precision or compiler of a case, that of the first earlier case that differs in
    nothing else, the earlier case, and the case.

    A reduced precision is compared with a full one, a compiler with any other.
    """
    for at, case in enumerate(cases):
        before = cases[:at]
        for base in before:
            precision = case.axes.precision
            full = is_reduced(precision) and not is_reduced(base.axes.precision)
            if full and twins(base, case, "precision"):
                yield precision, base.axes.precision, base, case
                break
        for base in before:
            other = base.axes.compiler != case.axes.compiler
            if other and twins(base, case, "compiler"):
                yield case.axes.compiler, base.axes.compiler, base, case
                break


def twins(one: CaseSummary, other: CaseSummary, less: str) -> bool:
    """Whether two cases of one label differ at most in the axis `less`."""
    same = key(one.axes, less=(less,)) == key(other.axes, less=(less,))
    return same and one.label == other.label
