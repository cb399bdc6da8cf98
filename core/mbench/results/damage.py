"""What is wrong with the lines of a run's file, in words. Whatever follows a bad line is lost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mbench.contract.reading import Malformed
from mbench.results import encoding, events
from mbench.results.records import Damage
from mbench.results.runfile import LongLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mbench.results.records import Run

__all__ = ["fill"]


def fill(run: Run, lines: Iterable[bytes], kinds: Mapping[str, type[events.Event]]) -> None:
    """Add the events of a file's lines to `run`, as far as they can be read; the first line, the
    header, is left out.

    The first line that cannot be read, and blocks out of order, are recorded in `run`.
    """
    offset, rest = 0, numbered(lines)
    before = b""
    for number, line in rest:
        if number > 1:
            try:
                take(run, line, kinds, twice=line == before)
            except (ValueError, LookupError, TypeError, RecursionError) as error:
                why = words(error, run, line, kinds)
                torn = isinstance(error, json.JSONDecodeError)
                last = torn and next(rest, None) is None
                run.damage = Damage(line=number, why=why, offset=offset, last=last)
                return
        assert isinstance(line, bytes)
        offset, before = offset + len(line), line


def numbered(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes | LongLine]]:
    """Each line with its number. A line that is too long to be read is replaced by its error, and
    is the last.
    """
    number = 0
    try:
        for number, line in enumerate(lines, start=1):
            yield number, line
    except LongLine as error:
        yield number + 1, error


def take(
    run: Run, line: bytes | LongLine, kinds: Mapping[str, type[events.Event]], *, twice: bool
) -> None:
    """Add the event of a line to `run`; raises the errors that `words` can describe."""
    if isinstance(line, LongLine):
        raise Malformed("it is longer than any that mbench writes")
    event = encoding.decode(line.decode("utf-8", errors="replace"), kinds)
    if event is None:
        return
    if isinstance(event, events.Run):
        raise Malformed("a second run begins there")
    if run.end is not None and not isinstance(event, events.Resumed):
        raise Malformed("it follows the end of the run")
    if isinstance(event, events.OfBlock) and twice:
        raise Malformed("it repeats the line before it")
    if isinstance(event, events.Block):
        blocks = run.process(event).blocks
        if blocks and event.start < blocks[-1].start:
            run.backwards += 1
    run.take(event)


def words(
    error: Exception, run: Run, line: bytes | LongLine, kinds: Mapping[str, type[events.Event]]
) -> str:
    """Why a line cannot be read."""
    if isinstance(error, Malformed):
        return f"{' '.join(str(error).split()):.200}"
    if isinstance(error, json.JSONDecodeError):
        return "it is not JSON"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, LookupError) and isinstance(line, bytes):
        event = encoding.decode(line.decode("utf-8", errors="replace"), kinds)
        return missing(event, run)
    if isinstance(error, ValueError):
        return "it holds a number with thousands of digits"
    return "it is not an event of a run"


def missing(event: object, run: Run) -> str:
    """What an event refers to that was not written before it."""
    kind = getattr(event, "kind", "event").replace("_", " ")
    case, process = getattr(event, "case", None), getattr(event, "process", None)
    if case is None or isinstance(event, events.Case):
        about = f"comparison {getattr(event, 'comparison', 0)}"
    elif case not in run.cases:
        about = f"case {case}"
    elif isinstance(event, events.PastRatio):
        about = f"case {event.baseline}"
    elif process not in run.cases[case].processes:
        about = f"process {process} of case {case}"
    else:
        about = "a block"
    return f"{kind} of {about}, which is not there yet"
