"""Regular expressions of rules: which metrics they match, within a time limit."""

from __future__ import annotations

import re
import signal
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.fleet.superbench.names import aliases, benchmark, rank

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import FrameType

    from mbench.fleet.superbench.yaml_file import Located

__all__ = ["Matched", "Pattern", "compiled", "matched", "pattern_of", "within_seconds"]

LONGEST = 300
SECONDS = 10.0
MOST_REPEATS = 12


@dataclass(frozen=True)
class Pattern:
    """A rule's `benchmark/expression`."""

    text: str
    at: Located
    benchmark: str
    whole: re.Pattern[str]
    """The expression, compiled so that a match cannot end within a number."""
    loose: re.Pattern[str]
    """The expression as SuperBench uses it."""


@dataclass(frozen=True)
class Matched:
    """What a pattern matches."""

    metrics: tuple[str, ...]
    """Names as in the results, sorted."""
    cut: tuple[str, ...]
    """Names that SuperBench would match, too, in the middle of a number."""
    longer: tuple[str, ...]
    """Metrics of which the pattern matches only the beginning, not counting the rank."""
    renamed: tuple[str, ...]
    """Metrics that are matched only by another of their names."""


def pattern_of(at: Located) -> Pattern:
    """The pattern at a place in a file. Raises UsageError with line and key."""
    text = at.text()
    if not benchmark(text):
        raise at.wrong(
            f"{text!r:.60} must be BENCHMARK/EXPRESSION: it does not start with a benchmark and a "
            "slash"
        )
    return Pattern(text, at, benchmark(text), *compiled(text, at))


def compiled(text: str, at: Located) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The expression, compiled so that a match cannot end within a number, and as it is. Raises
    UsageError.
    """
    if len(text) > LONGEST:
        raise at.wrong(f"an expression can have at most {LONGEST} characters")
    if doubt := explosive(text):
        raise at.wrong(f"the expression {text!r:.60} {doubt}: simplify it")
    try:
        loose = re.compile(text)  # first: in the group, a closing bracket would end the group
        return re.compile(rf"(?:{text})(?!(?<=[0-9])[0-9])"), loose
    except (re.error, RecursionError, OverflowError) as error:
        said = error.msg if isinstance(error, re.error) else "too complex"
        raise at.wrong(f"the expression {text!r:.60} is not valid: {said}") from None


def explosive(text: str) -> str:
    """Why an expression may take exponential time; empty if it does not look as if it would.

    Most such expressions contain a repeated group with a repeat or an alternative in it.
    """
    plain = re.sub(r"\\.", "a", text)
    plain = re.sub(r"\[\^?\]?[^\]]*\]", "a", plain)
    if len(re.findall(r"[*+]|\{\d*,\d*\}", plain)) > MOST_REPEATS:
        return f"has more than {MOST_REPEATS} repeats"
    if re.search(r"\{\d{4,}|\{\d*,\d{4,}", plain):
        return "repeats more than 999 times"
    opened: list[bool] = []
    for at, sign in enumerate(plain):
        if sign == "(":
            opened.append(False)
        elif sign in "*+|{" and opened:
            opened[-1] = True
        elif sign == ")" and opened:
            inside = opened.pop()
            if inside and plain[at + 1 : at + 2] in ("*", "+", "{"):
                return "repeats a group that contains a repeat or an alternative"
            if opened:
                opened[-1] = opened[-1] or inside
    return ""


class TooSlow(Exception):
    """An expression did not end in time."""


@contextmanager
def within_seconds(at: Located) -> Iterator[None]:
    """Ends the search of an expression that takes too long, where signals can do that.

    In threads other than the main one, only the length of names and expressions limits the time.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(_: int, __: FrameType | None) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    except TooSlow:
        raise at.wrong(f"took longer than {SECONDS:g} s to match: simplify it") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def matched(pattern: Pattern, names: Iterable[str], *, literal: Sequence[str]) -> Matched:
    """The `names` a pattern matches; `literal`: its rule's expressions, which match themselves."""
    found, cut, longer, renamed = [], [], [], []
    with within_seconds(pattern.at):
        for name in names:
            hits = [one for one in aliases(name)
                    if benchmark(one) == pattern.benchmark and hit(pattern, one)]  # fmt: skip
            if name in literal and pattern.text == name and not hits:
                hits = [name]
            if hits:
                found.append(name)
                if name not in hits:
                    renamed.append(name)
                elif not ends(pattern, name):
                    longer.append(name)
            elif benchmark(name) == pattern.benchmark and pattern.loose.search(name):
                cut.append(name)
    return Matched(tuple(found), tuple(cut), tuple(longer), tuple(renamed))


def hit(pattern: Pattern, name: str) -> bool:
    return pattern.text == name or pattern.whole.search(name) is not None


def ends(pattern: Pattern, name: str) -> bool:
    """Whether a match reaches the end of the name, or its rank."""
    if pattern.text == name:
        return True
    end = len(name) - len(rank(name))
    return any(found.end() in (end, len(name)) for found in pattern.whole.finditer(name))
