"""The lies that were told, as tables in Markdown: a row for each, a column for each case."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from liars.late import ALL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["rows"]

BY = (
    ("UNDETECTED", r"^UNDETECTED"),
    ("no verdict", r"rounding alone may"),
    ("the proof", r"^(updates|optimizer|outputs|timed|gradients): "),
    ("outputs", r"output \S+ of batch"),
    ("loss", r"loss of batch|first losses|losses of a batch|mean loss"),
    ("updates", r"updates, by|updates of|stands? still"),
    ("statistics", r"running"),
    ("speed", r"an MFU of|matrix products make"),
    ("after the clock", r"left until after the clock"),
    ("hindered", r"was moved to|was given|was stopped"),
    ("cores", r"cores? where"),
    ("clock", r"it says .* s passed"),
    ("unfinished", r"continued after synchronize"),
    ("merged", r"a step takes .* on its own"),
    ("steps", r"steps? (were|was|are) |skipped|left no result"),
)
"""What detects a lie, with a pattern for the words in which mbench reports it."""


def by_what(said: str) -> str:
    """What detected the lie, in a word or two; the whole sentence if none are known."""
    for word, pattern in BY:
        if re.search(pattern, said):
            ratio = said.removeprefix("UNDETECTED").strip(": ")
            return f"**undetected**, {ratio}" if word == "UNDETECTED" else word
    return said


def rows(lines: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """A table for each framework; the last line about a lie counts."""
    for framework in dict.fromkeys(one["framework"] for one in lines):
        yield from of_framework(framework, lines)
        yield ""


def of_framework(framework: str, lines: Sequence[Mapping[str, str]]) -> Iterator[str]:
    cases = list(dict.fromkeys((framework, one["mode"], one["precision"])
                               for one in lines if one["framework"] == framework))  # fmt: skip
    told = {(one["lie"], one["framework"], one["mode"], one["precision"]): one["told"]
            for one in lines}  # fmt: skip
    heads = (f"{mode}, {precision}" for _, mode, precision in cases)
    yield f"| {framework} | What the lie does | " + " | ".join(heads) + " |"
    yield "|---|---|" + "---|" * len(cases)
    for name, lie in ALL.items():
        found = [told.get((name, *case)) for case in cases]
        if any(found):
            says = (lie.__doc__ or "").split("\n", 1)[0]
            cells = ["" if one is None else by_what(one) for one in found]
            yield f"| `{name}` | {says} | " + " | ".join(cells) + " |"
