"""The report as one HTML page that needs nothing but itself."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import category

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jinja2 import Template
    from markupsafe import Markup

    from mbench.reports.html.parts import Article, Section, Within
    from mbench.results.history import History
    from mbench.results.summary import Summary

__all__ = ["SCRIPTS", "document", "fragment", "options", "page", "policy", "render", "source",
           "template"]  # fmt: skip

HERE = Path(__file__).parent
FORMAT_SIGN = "Cf"
"""The Unicode category of characters that reverse, join or hide text."""
OPTION = re.compile(r"--[a-z][a-z-]*")
# Plot needs D3, and charts.js needs Plot. For print, page.js opens folds before charts.js draws.
SCRIPTS = ("vendor/d3.min.js", "vendor/plot.min.js", "page.js", "charts.js")


def render(summary: Summary, /) -> str:
    """The page of one run."""
    return page([summary])


def page(
    summaries: Sequence[Summary],
    *,
    more: Mapping[str, Sequence[Section]] | None = None,
    history: History | None = None,
    within: Within | None = None,
) -> str:
    """The page of one run or several, and of the trends over all where they are given.

    `more` are further sections of a run, by its name.
    """
    from mbench.reports.html.article import article, trends
    from mbench.reports.html.parts import titled

    summaries = [titled(summary) for summary in summaries]
    more = more or {}
    articles = [
        article(summary, number, more.get(summary.run, ()))
        for number, summary in enumerate(summaries, start=1)
    ]
    if history is not None:
        articles.append(trends(history))
    series = {case.label: None for summary in summaries for case in summary.cases}
    return document(articles, series=list(series), within=within)


def document(
    articles: Sequence[Article], *, series: Sequence[str] = (), within: Within | None = None
) -> str:
    """A page of articles, which draws those in `series` in the same colours everywhere.

    It needs nothing but itself, or `within` a site only that site's scripts.
    """
    from markupsafe import Markup

    charts = [chart.data for made in articles for chart in made.charts()]
    scripts = [] if within else [source(name) for name in SCRIPTS]
    return template("page.html").render(
        articles=articles,
        within=within,
        style=Markup(source("style.css")),
        scripts=[Script(script) for script in scripts],
        files=[name.rpartition("/")[2] for name in SCRIPTS] if within else [],
        policy=policy(scripts, own_files=within is not None),
        data=Markup(embedded({"series": list(series), "charts": charts})),
    )


@functools.cache
def source(name: str) -> str:
    """A file of this package as text."""
    return (HERE / name).read_text(encoding="utf-8")


def fragment(summary: Summary, /) -> str:
    """The verdicts and tables of one run, for a notebook's page."""
    from mbench.reports.html.article import article
    from mbench.reports.html.parts import titled

    made = article(titled(summary), 1)
    return template("notebook.html").render(
        title="; ".join(made.answer), sure=made.sure, about=made.about, gate=made.gate,
        chips=made.chips, sections=made.sections,
    )  # fmt: skip


@functools.cache
def template(name: str, *, folder: Path = HERE) -> Template:
    """A template in `folder`, which may use those here; its values are escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([folder, HERE]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=readable,
    )
    environment.filters["options"] = options
    return environment.get_template(name)


@dataclass(frozen=True)
class Script:
    """Code that is embedded as it is: the page's policy has its digest."""

    code: str

    def __html__(self) -> str:
        return self.code


def readable(value: object) -> object:
    """A value without characters that reorder or hide text; scripts stay as they are."""
    if not isinstance(value, str) or value.isascii():
        return value
    kept = "".join(sign for sign in value if category(sign) != FORMAT_SIGN)
    return type(value)(kept)


def options(text: str) -> Markup:
    """The text with its command options marked up, so that lines do not break at their hyphens."""
    from markupsafe import Markup, escape

    return Markup(OPTION.sub(r'<span class="option">\g<0></span>', str(escape(text))))


def policy(scripts: Sequence[str], *, own_files: bool = False) -> str:
    """What the browser may do: run these very scripts, or those in files beside the page, and fetch
    nothing. No browser accepts a digest for a script in a file on the user's own disk.
    """
    digests = (base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts)
    allowed = " ".join(["'self'"] * own_files + [f"'sha256-{digest}'" for digest in digests])
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def embedded(value: Mapping[str, object]) -> str:
    """JSON that cannot end its script element early: every `<` is escaped by its number."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")
