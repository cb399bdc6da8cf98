"""The site's feed: the latest runs, and steps found in the history."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.site.publish import Published
    from mbench.site.timeline import Step

__all__ = ["feed"]

MOST = 50
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)")
NEVER = "1970-01-01T00:00:00+00:00"


def feed(title: str, runs: Sequence[Published], steps: Sequence[Step], *, url: str = "") -> str:
    """As Atom; links are absolute where the site's address is known, and else relative."""
    made = [
        (instant(run.summary.started), f"urn:sha256:{run.integrity.digest}", run.headline, run.page)
        for run in runs
    ]
    made += [
        (instant(step.point.started), f"urn:sha256:{step.run.integrity.digest}:step:{number}",
         f"Step found: {step.says}", step.run.page)
        for number, step in enumerate(steps)
    ]  # fmt: skip
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


def instant(text: str) -> str:
    """What a run says of its time, if that is a time."""
    return text if INSTANT.fullmatch(text) else NEVER
