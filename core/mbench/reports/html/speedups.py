"""What reduced precision and other compilers gain, each framework against itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mbench import stats
from mbench.contract.axes import alike, hushed, key
from mbench.reports.compat_formats.select import is_reduced
from mbench.reports.grid import Grid
from mbench.reports.headline import named
from mbench.reports.html.parts import Chart, Figure, Section, captioned, measured
from mbench.reports.text import digits_of, interval, number

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["speedups"]

Document = dict[str, Any]


def speedups(document: Document) -> Section | None:
    """What reduced precision and other compilers gain, each against the same case without them."""
    found = []
    for case in measured(document):
        for what, base in (
            (case["precision"], partner(document, case, "precision", is_full)),
            (case["compiler"], partner(document, case, "compiler", None)),
        ):
            if base is not None:
                found.append((what, base, case))
    if not found:
        return None
    columns = ("case", "framework", "gain from", "over", "speed-up", "95 % interval")
    table, rows, less = [], [], {*hushed(document["cases"]), *alike(document["cases"])}
    for what, base, case in found:
        gain = stats.contrast(base["throughput"]["processes"], case["throughput"]["processes"])
        over = base["precision"] if what == case["precision"] else base["compiler"]
        ends = interval(gain.low, gain.high)
        text = number(gain.value, digits_of(gain.low, gain.high))
        table.append([named(case, less=less), case["label"], what, over, text, ends])
        rows.append(
            {"group": captioned(f"{what} over {over}",
                                named(case, less={"precision", "compiler", *less})),
             "name": case["label"], "series": case["label"], "value": gain.value,
             "low": gain.low, "high": gain.high, "dots": [], "text": text}
        )  # fmt: skip
    label = "times as fast"
    data = {"kind": "intervals", "rows": rows, "log": True, "reference": 1, "label": label}
    figure = Figure(
        charts=[Chart(data, f"{len(rows)} speed-ups of precisions and compilers.")],
        table=Grid("Speed-ups within one framework", columns, table,
                    numeric=frozenset({"speed-up", "95 % interval"})),
    )  # fmt: skip
    lead = (
        "Each framework against itself. These cases did not take turns, so a drift of the machine "
        "between them is in the number."
    )
    return Section("speedups", "Mixed precision and compilers", lead, [figure])


def is_full(value: str) -> bool:
    return not is_reduced(value)


def partner(
    document: Document, case: Document, axis: str, wanted: Callable[[str], bool] | None
) -> Document | None:
    """The first case that differs in `axis` alone and comes before, by rank or by order."""

    def twin(case: Document) -> tuple[Any, ...]:
        return case["label"], *key(case, less=(axis,))

    if wanted is not None and wanted(case[axis]):
        return None
    for other in measured(document):
        if other is case:
            break
        alike = twin(other) == twin(case) and other[axis] != case[axis]
        if alike and (wanted is None or wanted(other[axis])):
            return other
    return None
