"""Colours for what a terminal shows: by the words that say it, so that none says a thing alone."""

from __future__ import annotations

import re

__all__ = ["paint"]

WORD = r"[^\s(;,]+"
SETUP = rf" \([\w-]+\)|(?: (?:in|with|and) {WORD}(?: (?!in|with|and|is){WORD})?){{1,6}}"
"""A compiler, or settings: "in fp32 with threads 2"."""
STYLES = {
    "winner": (
        "1;32",
        rf"\S+(?:{SETUP})? is [\d.]+ times(?: \([\d. ]+\))? as fast as [^\s(;:,]+(?:{SETUP})?",
    ),
    "open": ("1", r"no difference shown|alike within \S+ %|undetermined|depends on stalls"),
    "unequal": ("1;35", r"NOT PROVEN|NOT CHECKED|\bnot-equal\b|\bFAILS\b"),
    "proven": ("32", r"\bproven\b|\bshown in fp32\b"),
    "disturbed": ("1;33", r"\bDISTURBED\b|^warn\b"),
    "failed": ("1;31", r"\bREGRESSION\b|\b(?:oom|timeout|crashed|failed|unsupported)\b|^fail\b"),
    "heading": ("1", r"^(?:.+\n)+?(?=[─\x20]+$)"),
}
"""What is said, by a code of ECMA-48 (SGR) and by its words: bold, and the colours that every
terminal has. A blank stands for the end of a line too, for text is folded."""
BLANK = r"\s+"
SAID = re.compile(
    "|".join(
        f"(?P<{kind}>{BLANK.join(pattern.split(' '))})" for kind, (_, pattern) in STYLES.items()
    ),
    re.MULTILINE,
)


def paint(text: str) -> str:
    """`text` with its verdicts, outcomes and headings in colour."""
    return SAID.sub(lambda found: f"\x1b[{STYLES[str(found.lastgroup)][0]}m{found[0]}\x1b[0m", text)
