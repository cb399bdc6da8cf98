"""The formats of `--format` other than the page: a terminal's, Markdown, CSV and JSON."""

from __future__ import annotations

import csv as csv_module
import io
import json as json_module
from typing import TYPE_CHECKING

from rich.console import Group

from mbench.contract.axes import AXES
from mbench.reports.cases import (
    asked_metrics,
    brief_table,
    case_table,
    latency_table,
    models_of,
    operator_table,
)
from mbench.reports.headline import headline
from mbench.reports.inputs import input_cells, input_table
from mbench.reports.junit import junit
from mbench.reports.overview import overview
from mbench.reports.remark_text import lines
from mbench.reports.remarks import remarks
from mbench.reports.states import states
from mbench.reports.terminal import Sentences, paragraphs
from mbench.reports.text import escape, rows_of, spreadsheet
from mbench.reports.verdicts import verdict_lines
from mbench.stats import PERCENTILES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import RenderableType

    from mbench.plugins.report import Report
    from mbench.results.case_summary import CaseSummary
    from mbench.results.encoding import Json
    from mbench.results.pair_summary import PairSummary
    from mbench.results.summary import Summary

__all__ = ["FORMATS", "Cells", "csv", "csv_rows", "figures", "json", "markdown", "ratio", "table",
           "written"]  # fmt: skip


def table(summary: Summary, /) -> RenderableType:
    """For a terminal: the answer, one table, whether to believe it, and what to do next."""
    return overview(summary)


def details(summary: Summary, /) -> RenderableType:
    """As `table`, with every figure, verdict, disturbance and note on how frameworks are set up."""
    shared, cases = brief_table(summary)
    return paragraphs([
        overview(summary),
        Sentences(verdict_lines(summary)),
        Group(Sentences([shared] if shared else []), cases),
        latency_table(summary),
        Sentences(lines(remarks(summary), cases=len(summary.cases))),
    ])  # fmt: skip


def markdown(summary: Summary, /) -> str:
    """For pull requests and pages: the answer, its states, tables, then remarks."""
    grids = [case_table(summary), latency_table(summary), operator_table(summary),
             input_table(summary)]  # fmt: skip
    found = remarks(summary)
    known = [f"{one.level}: {one.title}: {one.text}" for one in states(summary, found)]
    parts = [
        [escape(str(summary.gate))] if summary.gate else [],
        [f"**{escape(headline(summary))}**"],
        [f"- {escape(text)}" for text in [*known, *map(str, verdict_lines(summary))]],
        *(rows_of(grid.columns, grid.rows) for grid in grids if grid),
        [f"- {escape(text)}" for text in lines(found, cases=len(summary.cases))],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def json(summary: Summary, /) -> str:
    """The summary itself, as strict JSON."""
    return written(summary.to_json())


def written(document: Mapping[str, Json]) -> str:
    """A document as strict JSON, with a newline at its end."""
    return json_module.dumps(document, indent=2, allow_nan=False) + "\n"


def csv(summary: Summary, /) -> str:
    """One line for each case: plain numbers, and the ratio to the baseline.

    A cell without a number is empty; the reason is in a column of its own.
    """
    rows = csv_rows(summary)
    header = rows[0] if rows else ["label", "framework", "version", *(axis.name for axis in AXES)]
    out = io.StringIO()
    writer = csv_module.DictWriter(out, fieldnames=header, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: spreadsheet(cell) for name, cell in row.items()} for row in rows)
    return out.getvalue()


Cells = dict[str, "str | int | float | bool | None"]


def csv_rows(summary: Summary) -> list[Cells]:
    """A row for each case, by column."""
    ratios = {pair.cases[1]: pair for pair in summary.comparisons if pair.against_first}
    return [
        {
            "label": case.label, "framework": case.framework, "version": case.version,
            **{axis.name: axis.value(case.axes) for axis in AXES},
            "global_batch_size": case.global_batch_size,
            "outcome": case.outcome, "reason": case.reason, "protocol": summary.protocol.name,
            **figures(case),
            **{key: cell for name in asked_metrics(summary)
               for key, cell in metric_cells(case, name).items()},
            "disturbances": "; ".join(found.text for found in case.disturbances),
            **ratio(ratios.get(at)),
        }
        for at, case in enumerate(summary.cases)
    ]  # fmt: skip


def figures(case: CaseSummary) -> Cells:
    """The figures of a case by their names in files; each is None if there is none."""
    speed, times, rates, work = case.throughput, case.step_time_ms, case.bandwidth, case.operator
    read = case.memory_read
    percentiles = (
        times.percentiles if times else dict.fromkeys(f"p{rank:g}" for rank in PERCENTILES)
    )
    return {
        "samples_per_second": speed.value if speed else None,
        "samples_per_second_low": speed.low if speed else None,
        "samples_per_second_high": speed.high if speed else None,
        "step_time_ms": times.mean if times else None,
        **{f"step_time_ms_{rank}": value for rank, value in percentiles.items()},
        "percentiles_lacking": "; ".join(
            f"{rank} {why}" for rank, why in (times.lacking if times else {}).items()
        ),
        "first_step_seconds": case.first_step_seconds,
        "peak_memory_bytes": case.peak_memory_bytes,
        "device_memory_bytes": case.device_memory_bytes,
        "mfu": case.mfu,
        "flops_convention": case.flops_convention,
        "counts": models_of(work.counts) if work else "",
        "bytes_per_sample": work.bytes_per_sample if work else None,
        "flops_per_second": work.flops_per_second if work else None,
        "bytes_per_second": work.bytes_per_second if work else None,
        "limit": work.limit if work else None,
        "roofline": work.roofline if work else None,
        "algorithm_bytes_per_second": rates.algorithm_bytes_per_second if rates else None,
        "bus_bytes_per_second": rates.bus_bytes_per_second if rates else None,
        "read_bytes_per_second": read.bytes_per_second if read else None,
        "read_bandwidth_share": read.share if read else None,
        "joules_per_sample": case.energy.joules_per_sample if case.energy else None,
        **input_cells(case),
    }


def metric_cells(case: CaseSummary, name: str) -> Cells:
    """The figure of a metric that was asked for."""
    figure = case.metrics.get(name)
    return {
        name: figure.value if figure else None,
        f"{name}_low": figure.low if figure else None,
        f"{name}_high": figure.high if figure else None,
    }


def ratio(pair: PairSummary | None) -> Cells:
    """The ratio to the baseline, and what is said about it; all None for a baseline."""
    return {
        "baseline": pair.baseline if pair else None,
        "ratio": pair.ratio if pair else None,
        "ratio_low": pair.low if pair else None,
        "ratio_high": pair.high if pair else None,
        "ratio_median": pair.median if pair else None,
        "verdict": pair.verdict if pair else None,
        "equal_work": pair.equal_work if pair else None,
    }


def html(summary: Summary, /) -> str:
    from mbench.reports.html import render

    return render(summary)


FORMATS: Mapping[str, Report] = {
    "table": table, "details": details, "json": json, "csv": csv, "markdown": markdown,
    "html": html, "junit": junit,
}  # fmt: skip
