"""File names, and texts from strangers: neither leads out of the site or controls its display."""

from __future__ import annotations

import hashlib
import re
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from typing import Any

__all__ = ["brief", "scrubbed", "slug"]

T = TypeVar("T")
PLAIN = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
DIGESTED = re.compile(r".*-[0-9a-f]{16}")
LONGEST_SLUG = 60
LONGEST_TEXT = 2000
"""Longest text from a run's file: a reason is a line, and an error message a few."""
STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\uffff\ud800-\udfff]"
)
"""Control characters, and those that change the direction of the text after them or are
invisible."""


def slug(text: str) -> str:
    """A name for a file: the same for the same text, and different for any other."""
    if len(text) <= LONGEST_SLUG and PLAIN.fullmatch(text) and not DIGESTED.fullmatch(text):
        return text
    words = "-".join(re.findall("[a-z0-9]+", text.lower()))[:40].strip("-")
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{words or 'x'}-{digest}"


def brief(text: str, most: int) -> str:
    """The beginning of a long text."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def scrubbed(value: T) -> T:
    """A record with long texts shortened, and without characters that control how texts are
    shown.
    """
    return cast("T", scrub(value))


def scrub(value: Any) -> Any:
    if isinstance(value, str):
        return brief(STEERING.sub("", value), LONGEST_TEXT)
    if isinstance(value, dict):
        return {scrub(name): scrub(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        if not value or isinstance(value[0], int | float):
            return value
        return type(value)(map(scrub, value))
    if is_dataclass(value) and not isinstance(value, type):
        old = {one.name: getattr(value, one.name) for one in fields(value) if one.init}
        new = {name: scrub(inner) for name, inner in old.items()}
        changed = {name: inner for name, inner in new.items() if inner is not old[name]}
        return replace(value, **changed) if changed else value
    return value
