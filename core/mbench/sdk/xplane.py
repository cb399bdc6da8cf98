"""Reads XLA's own format of a trace, XPlane, as Chrome's trace events.

The messages are those of tsl/profiler/protobuf/xplane.proto, whose field numbers are used here, in
the wire format of Protocol Buffers. What is not needed is skipped.
"""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    Event = dict[str, Any]  # as in JSON
    Message = dict[int, list[Any]]  # whole numbers or bytes, by the number of their field

__all__ = ["events"]

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Wire types of fields."""
SPACE_PLANES = 1
PLANE_NAME, PLANE_LINES, PLANE_EVENT_METADATA, PLANE_STAT_METADATA = 2, 3, 4, 5
LINE_EVENTS = 4
EVENT_METADATA, EVENT_PICOSECONDS, EVENT_STATS = 1, 3, 4
STAT_METADATA, STAT_DOUBLE, STAT_TEXT, STAT_REFERENCE = 1, 2, 5, 7
STAT_WHOLE = (3, 4)
"""Fields for unsigned and signed whole numbers."""
KEY, VALUE, NAME = 1, 2, 2
"""Field numbers of a table's entry, and of the name in its value."""


def events(file: str) -> list[Event]:
    """A name for each plane's process, and its events with their statistics as arguments; raises
    ValueError if `file` is not in this format.
    """
    with open(file, "rb") as opened:
        data = opened.read()
    try:
        planes = fields(data).get(SPACE_PLANES, [])
        return [event for pid, plane in enumerate(planes) for event in of_plane(pid, plane)]
    except (IndexError, TypeError, struct.error) as error:
        name = os.path.basename(file)
        raise ValueError(f"its trace cannot be read: {name}: {error}") from None


def of_plane(pid: int, data: bytes) -> Iterator[Event]:
    plane = fields(data)
    title = text(plane.get(PLANE_NAME, [b""])[0])
    yield {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": title}}
    names = named(plane.get(PLANE_EVENT_METADATA, []))
    words = named(plane.get(PLANE_STAT_METADATA, []))
    for line in plane.get(PLANE_LINES, []):
        for event in map(fields, fields(line).get(LINE_EVENTS, [])):
            stats = (fields(stat) for stat in event.get(EVENT_STATS, []))
            yield {
                "ph": "X", "pid": pid, "name": names.get(event.get(EVENT_METADATA, [0])[0], ""),
                "dur": event.get(EVENT_PICOSECONDS, [0])[0] / 1e6,
                "args": {words.get(stat.get(STAT_METADATA, [0])[0], ""): value_of(stat, words)
                         for stat in stats},
            }  # fmt: skip


def value_of(stat: Message, words: dict[int, str]) -> object:
    if STAT_REFERENCE in stat:
        return words.get(stat[STAT_REFERENCE][0], "")
    if STAT_TEXT in stat:
        return text(stat[STAT_TEXT][0])
    if STAT_DOUBLE in stat:
        return struct.unpack("<d", stat[STAT_DOUBLE][0])[0]
    return next((stat[field][0] for field in STAT_WHOLE if field in stat), None)


def named(entries: list[bytes]) -> dict[int, str]:
    """The names of a table of events or of statistics, by their numbers."""
    found = {}
    for entry in map(fields, entries):
        value = fields(entry.get(VALUE, [b""])[0])
        found[entry.get(KEY, [0])[0]] = text(value.get(NAME, [b""])[0])
    return found


def text(data: bytes) -> str:
    return data.decode(errors="replace")


def fields(data: bytes) -> Message:
    """The fields of a message by number, in their order: whole numbers, or bytes."""
    found: Message = {}
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == VARINT:
            value: int | bytes
            value, at = varint(data, at)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
            value, at = data[at : at + size], at + size
        elif kind == BYTES:
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            raise TypeError(f"no field has wire type {kind}")
        if at > len(data):
            raise IndexError("it is cut off")
        found.setdefault(tag >> 3, []).append(value)
    return found


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A whole number with seven bits per byte, the lowest first, and where it ends."""
    found = shift = 0
    while True:
        byte = data[at]
        at += 1
        found |= (byte & 127) << shift
        if byte < 128:
            return found, at
        shift += 7
