"""Terminal output: lines that cannot control it, over streams that may be closed or full."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from contextlib import suppress
from io import TextIOWrapper
from typing import Any, TextIO, cast

from mbench.contract.secrets import masked

__all__ = ["abandon", "counted", "printable", "say", "span", "steady", "tell"]

NARROWEST = 20
"""Fewest columns of a terminal that can show more than a word per line."""


def printable(text: str) -> str:
    """`text` without secrets, and without anything that would move a terminal's cursor, change its
    colours or reorder the text.
    """
    return "".join(sign for sign in masked(text) if sign.isprintable())


def counted(count: int, noun: str) -> str:
    """A count with its noun: "1 case", "2 cases", "2 processes"."""
    several = "es" if noun.endswith("s") else "s"
    return f"{count:,} {noun}" + several * (count != 1)


def span(seconds: float) -> str:
    """A length of time as people say it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def say(line: str = "") -> None:
    """Print a line to stdout; raises OSError."""
    print(printable(line), flush=True)


def tell(message: str) -> None:
    """Print a message for people to stderr; on a terminal it is wrapped between words."""
    line = f"mbench: {printable(' '.join(message.splitlines()))}"
    with suppress(OSError, ValueError):  # a stream that is closed
        if sys.stderr.isatty():
            line = folded(line, shutil.get_terminal_size().columns)
    print(line, file=sys.stderr, flush=True)


def folded(line: str, width: int) -> str:
    """`line` wrapped to at most `width` columns; longer words are left whole."""
    if width < NARROWEST:
        return line
    return textwrap.fill(line, width, subsequent_indent="  ", break_long_words=False,
                         break_on_hyphens=False)  # fmt: skip


class Lenient:
    """A stream that drops what cannot be written, rather than abort a measurement."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):  # ValueError if it is closed
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()


def steady() -> None:
    """Replace missing standard streams: no file takes their number, and no output ends a run."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # what the encoding cannot represent
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if not isinstance(sys.stderr, Lenient):
        sys.stderr = cast("TextIO", Lenient(sys.stderr))


def abandon(stream: TextIO) -> None:
    """Write nothing more to `stream`, not even what Python flushes when it exits."""
    with suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)
