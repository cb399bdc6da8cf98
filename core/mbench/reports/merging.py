"""Merges notes that say the same of several cases into one that says of which."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["all_or", "merged"]

NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


def merged(notes: Iterable[tuple[str, str]]) -> list[tuple[list[str], str]]:
    """(who, text) each; texts that differ in numbers alone become one with ranges, and all of whom.

    In the order of their first appearance.
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    for who, text in notes:
        groups.setdefault(NUMBER.sub("#", text), []).append((who, text))
    return [
        (list(dict.fromkeys(who for who, _ in group)), ranged([text for _, text in group]))
        for group in groups.values()
    ]


def ranged(texts: Sequence[str]) -> str:
    """Texts that differ in numbers alone as one: "1.1 to 1.3" where they do."""
    of_each = iter(zip(*(NUMBER.findall(text) for text in texts), strict=True))

    def span(_: re.Match[str]) -> str:
        found = sorted(next(of_each), key=lambda text: float(text.replace(",", "")))
        return found[0] if found[0] == found[-1] else f"{found[0]} to {found[-1]}"

    return NUMBER.sub(span, texts[0])


def all_or(who: Sequence[str], everyone: Sequence[str]) -> str:
    """Their names; where they are all, and several, how many."""
    if len(who) == len(everyone) > 2:
        return f"all {len(who)} cases"
    return ", ".join(who)
