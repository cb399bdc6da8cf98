"""All that the site shows as CSV, as JSON and as a feed; docs/site.md describes the columns."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from mbench.contract.axes import AXES
from mbench.reports.formats import csv_rows
from mbench.reports.text import spreadsheet
from mbench.site.matrix import why_not

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mbench.reports.formats import Cells
    from mbench.site.collect import LeftOut
    from mbench.site.publish import Published
    from mbench.site.timeline import Step

__all__ = ["as_json", "cases_csv", "feed", "ratios_csv"]

SCHEMA = 1
OF_RUN = ("run", "started", "host", "machine", "mbench", "integrity", "page", "raw", "command")
OF_RATIO = (
    *OF_RUN, "baseline", "framework", "baseline_version", "framework_version",
    "baseline_compiler", "framework_compiler",
    *(axis.name for axis in AXES if axis.name != "compiler"), "metric", "ratio", "ratio_low",
    "ratio_high", "process_pairs", "verdict", "equal_work", "distorted", "disturbances",
    "not_shown",
)  # fmt: skip
"""Columns of a ratio, also for a site without any ratio."""


def of_run(run: Published) -> Cells:
    """What every row of a run begins with."""
    machine = run.machine
    return {
        "run": run.summary.run, "started": run.summary.started, "host": machine.host,
        "machine": machine.about, "mbench": run.summary.mbench,
        "integrity": run.integrity.reason or "ok", "page": run.page, "raw": run.raw,
        "command": run.command,
    }  # fmt: skip


def cases(runs: Iterable[Published]) -> list[Cells]:
    """A row for each case of each run: the run, then the columns of `mbench show --format csv`."""
    return [{**of_run(run), **row} for run in runs for row in csv_rows(run.summary)]


def ratios(runs: Iterable[Published]) -> list[Cells]:
    """A row for each ratio of each run; those that are not shown have the reason."""
    return [
        {
            **of_run(run),
            "baseline": pair.baseline, "framework": pair.framework,
            "baseline_version": run.summary.cases[pair.cases[0]].version,
            "framework_version": run.summary.cases[pair.cases[1]].version,
            "baseline_compiler": run.summary.cases[pair.cases[0]].axes.compiler,
            "framework_compiler": run.summary.cases[pair.cases[1]].axes.compiler,
            **{axis.name: axis.value(pair.shared) if axis.name in pair.shared else None
               for axis in AXES if axis.name != "compiler"},
            "metric": pair.metric, "ratio": pair.ratio, "ratio_low": pair.low,
            "ratio_high": pair.high, "process_pairs": pair.process_pairs,
            "verdict": pair.verdict, "equal_work": pair.equal_work,
            "distorted": pair.distorted, "disturbances": "; ".join(pair.disturbances),
            "not_shown": why_not(run, pair),
        }
        for run in runs
        for pair in run.summary.comparisons
    ]  # fmt: skip


def cases_csv(runs: Iterable[Published]) -> str:
    return as_csv(cases(runs), OF_RUN)


def ratios_csv(runs: Iterable[Published]) -> str:
    return as_csv(ratios(runs), OF_RATIO)


def as_csv(rows: Sequence[Cells], first: Iterable[str]) -> str:
    """The columns in `first`, then those that any row has."""
    columns = dict.fromkeys([*first, *(column for row in rows for column in row)])
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(columns), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: spreadsheet(cell) for name, cell in row.items()} for row in rows)
    return out.getvalue()


def as_json(
    title: str, runs: Sequence[Published], steps: Iterable[Step], left_out: Iterable[LeftOut]
) -> str:
    """All cases and ratios as JSON, with the steps that were found and what is left out."""
    found: Mapping[str, object] = {
        "schema": SCHEMA,
        "title": title,
        "cases": cases(runs),
        "ratios": ratios(runs),
        "steps": [
            {"run": step.run.summary.run, "started": step.point.started,
             "host": step.line.machine.host, "label": step.point.label,
             **{axis.name: axis.value(step.point.axes) for axis in AXES},
             "version_before": step.before.version, "version": step.point.version,
             "ratio": step.point.change and step.point.change.ratio,
             "low": step.point.change and step.point.change.low,
             "high": step.point.change and step.point.change.high}
            for step in steps
        ],
        "left_out": [{"file": one.name, "reason": one.reason} for one in left_out],
    }  # fmt: skip
    return json.dumps(found, allow_nan=False, separators=(",", ":")) + "\n"


MOST = 50
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)")
NEVER = "1970-01-01T00:00:00+00:00"


def feed(title: str, runs: Sequence[Published], steps: Sequence[Step], *, url: str = "") -> str:
    """An Atom feed; links are absolute if the site's address is known, else relative."""
    made = [
        (instant(run.summary.started), f"urn:sha256:{run.integrity.digest}", run.headline, run.page)
        for run in runs
    ]
    made += [
        (instant(step.point.started), name_of(step), f"Step found: {step.says}", step.run.page)
        for step in steps
    ]
    latest = sorted(made, reverse=True)[:MOST]
    base = f"{url.rstrip('/')}/" if url else ""
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<title>{escape(title)}</title>",
        f"<id>{escape(base or 'urn:mbench:site')}</id>",
        f"<updated>{latest[0][0] if latest else NEVER}</updated>",
        "<author><name>mbench site</name></author>",
        f"<link href={quoteattr(base or 'index.html')}/>",
        f'<link rel="self" href={quoteattr(f"{base}feed.atom")}/>',
    ]
    for when, name, says, page in latest:
        lines += [
            "<entry>",
            f"<title>{escape(says)}</title>",
            f"<id>{escape(name)}</id>",
            f"<updated>{when}</updated>",
            f"<link href={quoteattr(base + page)}/>",
            "</entry>",
        ]
    return "\n".join([*lines, "</feed>"]) + "\n"


def name_of(step: Step) -> str:
    """The step's own name, which is the same whichever other steps are found."""
    line = hashlib.sha256(step.point.line.encode(errors="replace")).hexdigest()
    return f"urn:sha256:{step.run.integrity.digest}:step:{line}"


def instant(text: str) -> str:
    """A run's own time stamp if it is a valid one, else `NEVER`."""
    return text if INSTANT.fullmatch(text) else NEVER
