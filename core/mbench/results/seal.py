"""The digest that closes a run's file, which reveals later changes to the file.

It covers all bytes before the `end` event, and that event without its digest. Anyone who writes a
whole file can compute the digest too: it shows that a file was not changed, not who wrote it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mbench.results import encoding, events
from mbench.results.runfile import raw_lines_of

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Integrity", "Seal", "examine_file"]

END = b'{"event":"end"'
DIGEST = b'"digest":"'


class Seal:
    """Follows what is written to a file, for the digest that closes it."""

    def __init__(self, before: bytes = b"") -> None:
        """`before` is what the file holds already."""
        self._sum = hashlib.sha256(before)

    def take(self, line: str) -> None:
        """Add a line that was written, given without its line end."""
        self._sum.update(line.encode() + b"\n")

    def sealed(self, end: events.End) -> events.End:
        """The same event with the digest of everything before it, and of itself."""
        found = Seal()
        found._sum = self._sum.copy()
        found.take(encoding.encode(replace(end, digest="")))
        return replace(end, digest=found.digest)

    @property
    def digest(self) -> str:
        """The digest of everything added so far."""
        return self._sum.hexdigest()


@dataclass(frozen=True, kw_only=True)
class Integrity:
    """What the digests of a run's file say."""

    digest: str
    """SHA-256 of the whole file."""
    lines: int
    """Lines of the file."""
    sealed: bool
    """Whether the last line closes the file with a digest."""
    edited: int = 0
    """The first line whose digest is not that of what precedes it; 0 where there is none."""

    @property
    def reason(self) -> str:
        """Why the file cannot be shown to be as it was written; empty where it can."""
        if self.edited:
            return f"changed after it was written: the digest in line {self.edited} does not match"
        return "" if self.sealed else "no digest closes the file: it was not measured to its end"


def examine_file(path: Path) -> Integrity:
    """Check every digest of a run's file; raises MbenchError for what is not a run's file."""
    sum_, lines, sealed, edited = hashlib.sha256(), 0, False, 0
    for line in raw_lines_of(path):
        lines += 1
        sealed = False
        if line.startswith(END) and (claimed := digest_of(line)):
            blank = line.replace(DIGEST + claimed.encode(), DIGEST, 1)
            found = sum_.copy()
            found.update(blank)
            sealed = found.hexdigest() == claimed
            edited = edited or lines * (not sealed)
        sum_.update(line)
    return Integrity(digest=sum_.hexdigest(), lines=lines, sealed=sealed, edited=edited)


def digest_of(line: bytes) -> str:
    """The digest in an `end` event; empty if it has none."""
    try:
        found = json.loads(line).get("digest", "")
    except (ValueError, AttributeError, RecursionError):
        return ""
    return found if isinstance(found, str) else ""
