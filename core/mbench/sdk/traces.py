"""Reads the traces that frameworks' own profilers write: Chrome's trace events, mostly as JSON.

According to the writers' own sources, a call of the device is marked in one of two ways:

- By its category, whose capitalisation varies: "kernel", "gpu_memcpy" and "gpu_memset" in
  PyTorch (Kineto's libkineto/src/output_json.cpp; older ones have "Kernel", "Memcpy", "Memset"),
  and "Kernel", "Memcpy" and "Memset" in PaddlePaddle
  (paddle/fluid/platform/profiler/chrometracing_logger.cc). Bytes, grid and block are arguments.
- By its details, on a process named "/device:GPU:0", in JAX and TensorFlow: "kernel_details" has
  "grid:1,1,1 block:128,1,1", "memcpy_details" has "size:64", "Memset_details" has "num_bytes:64"
  (xla/backends/profiler/gpu/cupti_collector.cc). Events derived from these, such as the operators
  above the kernels, have no details. The host's calls have some too, on the host's process.

MXNet's profiler (src/profiler/profiler.cc) reports operators, with a beginning and an end, but no
kernels.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from typing import TYPE_CHECKING

from mbench.contract.adapter import COPY, GRAPH, KERNEL, SET, DeviceCall, Traced
from mbench.sdk import xplane

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mbench.sdk.xplane import Event

__all__ = ["events", "read"]

CATEGORIES = {"kernel": KERNEL, "gpu_memcpy": COPY, "memcpy": COPY, "gpu_memset": SET,
              "memset": SET}  # fmt: skip
DETAILS = {"kernel_details": KERNEL, "memcpy_details": COPY, "memset_details": SET,
           "cuda_graph_exec_id": GRAPH}  # fmt: skip
DEVICE = "/device:"
COMPLETE, BEGINS, METADATA = "X", "B", "M"
DIRECTION = re.compile(r"([HDAP])(?:to|2)([HDAP])")
"""Direction of a copy: "Memcpy HtoD (Pageable -> Device)", "MEMCPY_HtoD", "MemcpyH2D"."""
SIDES = {"H": "host", "D": "device", "A": "array", "P": "peer"}
LASTED = re.compile(r"\[\d[\d.]* [mun]?s\]$")
"""How long an event lasted, which PaddlePaddle appends to its name."""
SIZE = re.compile(r"\b(?:size|num_bytes):(\d+)")
LAUNCH = re.compile(r"\bgrid:(\d+,\d+,\d+) block:(\d+,\d+,\d+)")


def read(folder: str) -> Traced:
    """The calls of all traces in a folder; raises ValueError if none can be read."""
    found = events(folder)
    names = {
        event.get("pid"): (event.get("args") or {}).get("name", "")
        for event in found
        if event.get("ph") == METADATA and event.get("name") == "process_name"
    }
    calls = []
    others = unread = 0
    for event in found:
        if event.get("ph") not in (COMPLETE, BEGINS):
            continue
        on_device = str(names.get(event.get("pid"), "")).startswith(DEVICE)
        kind, details = kind_of(event, on_device=on_device)
        if not kind:
            others += 1
            continue
        try:
            calls.append(call_of(event, kind, details))
        except (KeyError, TypeError, ValueError):
            unread += 1
    return Traced(calls=merged(calls), other_events=others, unread=unread)


def events(folder: str) -> list[Event]:
    """All events of the traces in a folder and below; raises ValueError.

    Files in XLA's own format (*.xplane.pb), if any, are read alone: JSON is made from them.
    """
    files = sorted(
        os.path.join(place, name) for place, _, names in os.walk(folder) for name in names
    )
    traces = [name for name in files if name.endswith((".json", ".json.gz"))]
    planes = [name for name in files if name.endswith(".xplane.pb")]
    if not traces and not planes:
        raise ValueError("its profiler wrote no trace")
    if planes:
        return [event for name in planes for event in xplane.events(name)]
    return [event for name in traces for event in of_json(name)]


def of_json(name: str) -> Iterator[Event]:
    opened = gzip.open if name.endswith(".gz") else open
    try:
        with opened(name, "rb") as file:
            # A name may hold a control character or an invalid byte.
            trace = json.loads(file.read().decode(errors="replace"), strict=False)
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"its trace cannot be read: {os.path.basename(name)}: {error}") from None
    found = trace.get("traceEvents") if isinstance(trace, dict) else trace
    if not isinstance(found, list):
        raise ValueError(f"{os.path.basename(name)} has no trace events")
    return (event for event in found if isinstance(event, dict))


def kind_of(event: Event, *, on_device: bool) -> tuple[str, str]:
    """The kind of a device call, and its details as text; the kind of anything else is empty."""
    kind = CATEGORIES.get(str(event.get("cat", "")).lower(), "")
    if kind or not on_device:
        return kind, ""
    arguments = {name.lower(): str(value) for name, value in (event.get("args") or {}).items()}
    for name, kind in DETAILS.items():
        if name in arguments:
            return kind, arguments[name]
    return "", ""


def call_of(event: Event, kind: str, details: str) -> DeviceCall:
    arguments = event.get("args") or {}
    name = LASTED.sub("", event["name"])
    size = arguments.get("bytes")
    sized, launched = SIZE.search(details), LAUNCH.search(details)
    if size is None and sized:
        size = sized[1]
    grid, block = arguments.get("grid"), arguments.get("block")
    if launched:
        grid, block = (sides.split(",") for sides in launched.groups())
    across = DIRECTION.search(name) if kind == COPY else None
    if across:
        kind = f"{kind} {SIDES[across[1]]} to {SIDES[across[2]]}"
    return DeviceCall(
        kind=kind, name=name, count=1, milliseconds=float(event["dur"]) / 1000,
        launch=f"grid {by(grid)} block {by(block)}" if grid and block else "",
        moved_bytes=None if size is None else float(size),
    )  # fmt: skip


def by(sides: Iterable[object]) -> str:
    """(8, 12, 1) is written as 8x12x1."""
    return "x".join(map(str, sides))


def merged(calls: Iterable[DeviceCall]) -> list[DeviceCall]:
    """Merges calls that differ only in time and bytes."""
    found: dict[tuple[str, str, str], list[DeviceCall]] = {}
    for call in calls:
        found.setdefault((call.kind, call.name, call.launch), []).append(call)
    return [
        DeviceCall(
            kind=kind, name=name, launch=launch, count=len(alike),
            milliseconds=sum(call.milliseconds for call in alike),
            moved_bytes=together([call.moved_bytes for call in alike]),
        )
        for (kind, name, launch), alike in found.items()
    ]  # fmt: skip


def together(sizes: Iterable[float | None]) -> float | None:
    known = [size for size in sizes if size is not None]
    return sum(known) if known else None
