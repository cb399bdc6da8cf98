"""Turns an event into a line of the file, and a line into its event."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, TypeVar, Union

from mbench.contract.axes import AXES, Axes
from mbench.contract.device import DeviceSample
from mbench.contract.reading import Malformed, printable, read_fields
from mbench.contract.secrets import masked, masked_values
from mbench.machine.records import Sample
from mbench.results.events import EVENTS
from mbench.spec.arm import Arm

if TYPE_CHECKING:
    from mbench.results.events import Event

__all__ = ["Json", "decode", "encode", "plain", "plain_record", "record_of"]

Json = Union[None, bool, int, float, str, "list[Json]", "dict[str, Json]"]
Record = TypeVar("Record")
VARIABLES = "variables"
"""The name of all fields that hold environment variables."""


def encode(event: Event) -> str:
    """An event as one line of JSON; raises Malformed if it could not be read back."""
    line = json.dumps({"event": event.kind, **plain_record(event)}, separators=(",", ":"))
    decode(line, {event.kind: type(event)})
    return line


def decode(line: str, kinds: Mapping[str, type[Event]] = EVENTS) -> Event | None:
    """The event of one line; None if its kind is not among `kinds`. Raises ValueError."""
    body = json.loads(line)
    name = body.pop("event", None) if isinstance(body, dict) else None
    if not isinstance(name, str):
        raise Malformed(f"no event: {line:.60}")
    if name not in kinds:
        return None
    event: Event = read_fields(kinds[name], body, where=name, lenient=True)
    return event


def plain(value: object) -> Json:
    """A value as plain JSON data; the contents of a record's "flat" fields are merged with its
    others.
    """
    if isinstance(value, Arm):
        return written(value.shown)
    if is_dataclass(value):
        return plain_record(value)
    if isinstance(value, Mapping):
        return {printable(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, str):
        return written(value)
    assert value is None or isinstance(value, bool | int | float)
    return value


def written(text: str) -> str:
    """A text as it may be published."""
    return masked(printable(text))


def plain_record(record: object) -> dict[str, Json]:
    """The fields of a dataclass as plain JSON data."""
    found: dict[str, Json] = {}
    sparse = isinstance(record, Sample | DeviceSample)
    for field in fields(record):  # type: ignore[arg-type]
        value = getattr(record, field.name)
        if field.name == VARIABLES and isinstance(value, Mapping):
            value = masked_values(value)
        if (sparse and value is None) or "internal" in field.metadata:
            continue
        if "flat" in field.metadata:
            one = {axis.name: axis.of(value) for axis in AXES} if isinstance(value, Axes) else value
            found |= {printable(name): plain(inner) for name, inner in one.items()}
        else:
            found[field.name] = plain(value)
    return found


def record_of(kind: type[Record], event: Record) -> Record:
    """What an event says, without its case or process."""
    return kind(**{one.name: getattr(event, one.name) for one in fields(kind)})  # type: ignore[arg-type]
