"""Verdicts on a fleet for people: an answer, tables, and lines on how they were made."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.console import printable
from mbench.reports.grid import write
from mbench.reports.text import escape

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from rich.console import RenderableType

    from mbench.reports.grid import Grid

__all__ = ["SHOWN", "Sheet", "document", "page_of"]

SHOWN = 40
"""Most rows of a table for people; JSON has them all."""


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A verdict for people."""

    answer: str
    """The answer in one line."""
    grids: Sequence[Grid]
    lines: Sequence[str]
    """How it was reached, and what else there is to know."""
    error: Collection[str] = ()
    """Cells, such as a verdict, that are set in the colour of errors on the page."""
    warning: Collection[str] = ()

    def table(self) -> RenderableType:
        from mbench.reports.terminal import Sentences, paragraphs

        first, last = [printable(self.answer)], list(map(printable, self.lines))
        return paragraphs([Sentences(first), *self.grids, Sentences(last)])

    def markdown(self) -> str:
        parts = [f"**{escape(self.answer)}**\n"]
        if self.grids:
            parts.append(str(write(list(self.grids), format_="markdown")))
        parts.append("\n".join(f"- {escape(line)}" for line in self.lines) + "\n")
        return "\n".join(parts)

    def page(self) -> str:
        """A page without scripts, with everything from files escaped."""
        return page_of(self.answer, self.grids, self.lines, error=self.error, warning=self.warning)


def document(found: Mapping[str, object]) -> str:
    """The document as JSON, without NaN or infinity."""
    return json.dumps(found, indent=1, allow_nan=False) + "\n"


STYLE = """
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:0 auto;padding:1rem}
h1{font-size:1.4rem;overflow-wrap:anywhere}
h2{font-size:1.1rem}
.table{overflow-x:auto}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid #8886}
td{overflow-wrap:anywhere;min-width:4rem}
.error .level{color:#c22;font-weight:600}
.warning .level{color:#a60;font-weight:600}
@media (prefers-color-scheme:dark){.error .level{color:#f88}.warning .level{color:#fb6}}
"""


def page_of(
    answer: str, grids: Sequence[Grid], lines: Sequence[str], *, error: Collection[str] = (),
    warning: Collection[str] = (),
) -> str:  # fmt: skip
    """The answer, tables, and what else there is to say.

    Cells in `error` or `warning`, such as a verdict, are coloured.
    """
    title = clean(answer)
    parts = [
        "<!doctype html>", '<html lang="en"><head><meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
        "style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title><style>{STYLE}</style></head><body><main>",
        f"<h1>{title}</h1>",
    ]  # fmt: skip
    for grid in grids:
        parts.append(f'<h2>{clean(grid.title)}</h2><div class="table"><table><thead><tr>')
        parts += [f'<th scope="col">{clean(column)}</th>' for column in grid.columns]
        parts.append("</tr></thead><tbody>")
        for row in grid.rows:
            cells = [clean("" if cell is None else str(cell)) for cell in row]
            levels = {"error": set(cells) & set(error), "warning": set(cells) & set(warning)}
            level = next((name for name, hits in levels.items() if hits), "")
            found = levels.get(level, set())
            parts.append(f'<tr class="{level}">' if level else "<tr>")
            parts += [f'<td class="level">{cell}</td>' if cell in found else f"<td>{cell}</td>"
                      for cell in cells]  # fmt: skip
            parts.append("</tr>")
        parts.append("</tbody></table></div>")
    if lines:
        parts.append("<ul>")
        parts += [f"<li>{clean(line)}</li>" for line in lines]
        parts.append("</ul>")
    parts.append("</main></body></html>\n")
    return "\n".join(parts)


def clean(text: str) -> str:
    return html.escape(printable(text))
