"""The first page: every latest ratio by model, framework and machine, with filters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.reports import html
from mbench.site.pages import place_of
from mbench.site.publish import LINKS
from mbench.site.subjects import frameworks_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.site.collect import LeftOut
    from mbench.site.matrix import Row
    from mbench.site.publish import Published
    from mbench.site.timeline import Step

__all__ = ["LARGEST", "index_page"]

LARGEST = 900_000
"""Most bytes of the page: if there are more rows, the oldest are only on the models' pages."""
MOST_STEPS = 20
MOST_LEFT_OUT = 50
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Filter:
    """What rows can be filtered by."""

    name: str
    values: Sequence[str]


@cache
def own(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def index_page(
    title: str, rows: Sequence[Row], runs: Sequence[Published], steps: Sequence[Step],
    left_out: Sequence[LeftOut],
) -> str:  # fmt: skip
    """The first page, never larger than `LARGEST`, however many rows there are."""
    newest = sorted(rows, key=lambda row: row.day, reverse=True)
    shown = len(rows)
    while True:
        kept = {id(row) for row in newest[:shown]}
        text = rendered(title, [row for row in rows if id(row) in kept], len(rows) - shown, runs,
                        steps, left_out)  # fmt: skip
        size = len(text.encode("utf-8", errors="replace"))
        if size <= LARGEST or not shown:
            return text
        shown = min(shown - 1, int(shown * LARGEST / size))


def rendered(
    title: str, rows: Sequence[Row], older: int, runs: Sequence[Published], steps: Sequence[Step],
    left_out: Sequence[LeftOut],
) -> str:  # fmt: skip
    from markupsafe import Markup

    titles = {cell.case.framework: cell.case.framework_title for row in rows for cell in row.cells}
    script = own("index.js")
    machines = sorted({run.machine for run in runs}, key=lambda one: (one.host, one.about))
    return html.template("index.html", folder=HERE).render(
        title=title,
        about=f"{counted(len(runs), 'run')} on {counted(len(machines), 'machine')}",
        links=LINKS[1:],
        frameworks=sorted(titles.items(), key=lambda one: (one[1].lower(), one[0])),
        every_framework=frameworks_of(runs),
        filters=[
            Filter(name, sorted({str(getattr(row, name)) for row in rows}))
            for name in ("model", "mode", "precision", "device")
        ],
        hosts=sorted({row.machine.host for row in rows}),
        machines=machines,
        models=sorted({row.model for row in rows}),
        rows=rows,
        older=older,
        steps=steps[:MOST_STEPS],
        more_steps=len(steps[MOST_STEPS:]),
        left_out=left_out[:MOST_LEFT_OUT],
        more_left_out=len(left_out[MOST_LEFT_OUT:]),
        place_of=place_of,
        style=Markup(html.source("style.css") + own("index.css")),
        script=Markup(script),
        policy=html.policy([script]),
    )
