"""The line as which an event is written, and the event of a line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from mbench.contract.device import DeviceSample
from mbench.contract.reading import Malformed, printable, read_fields
from mbench.machine.records import Sample
from mbench.results.events import EVENTS
from mbench.spec.arm import Arm

if TYPE_CHECKING:
    from mbench.results.events import Event

__all__ = ["decode", "encode", "plain"]


def encode(event: Event) -> str:
    """An event as one line of JSON; raises Malformed where it could not be read back."""
    line = json.dumps({"event": event.kind, **plain(event)}, separators=(",", ":"))
    decode(line, {event.kind: type(event)})
    return line


def decode(line: str, kinds: Mapping[str, type[Event]] = EVENTS) -> Event | None:
    """The event of one line, None for a kind that is not among `kinds`; raises ValueError."""
    body = json.loads(line)
    name = body.pop("event", None) if isinstance(body, dict) else None
    if not isinstance(name, str):
        raise Malformed(f"no event: {line:.60}")
    if name not in kinds:
        return None
    event: Event = read_fields(kinds[name], body, where=name, lenient=True)
    return event


def plain(value: Any) -> Any:
    """A record as plain JSON data."""
    if isinstance(value, Arm):
        return printable(value.text)
    if is_dataclass(value):
        found = {f.name: plain(getattr(value, f.name)) for f in fields(value)}
        sparse = isinstance(value, Sample | DeviceSample)
        return {name: v for name, v in found.items() if v is not None or not sparse}
    if isinstance(value, Mapping):
        return {printable(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return printable(value) if isinstance(value, str) else value
