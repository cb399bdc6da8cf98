"""The messages between parent and worker: JSON lines, one dataclass each, checked on reading."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import math
import types
import typing
from dataclasses import dataclass, field

from mbench.contract.adapter import FrameworkInfo
from mbench.contract.case import Case

__all__ = [
    "Close",
    "Closed",
    "Describe",
    "Elapsed",
    "Failure",
    "FindShapes",
    "Hello",
    "Loss",
    "LossValue",
    "MalformedMessage",
    "Memory",
    "MemoryUsed",
    "Observation",
    "Observe",
    "Prepare",
    "Prepared",
    "Probe",
    "Probed",
    "Run",
    "ShapesFound",
    "StepEvidence",
    "decode",
    "encode",
    "read_fields",
]


class MalformedMessage(ValueError):
    """Text that is not one of our messages; says which part is wrong."""


@dataclass(frozen=True, kw_only=True)
class Hello:
    """A worker's first words."""

    python: str
    pid: int
    process_group: int


@dataclass(frozen=True, kw_only=True)
class Describe:
    """Import the framework and say what it is; answered by FrameworkInfo.

    `runtime` is the adapter's Runtime as "module:Class".
    """

    runtime: str
    device: str
    threads: int
    memory_limit_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Prepare:
    """Build a case and load its canonical parameters, unless `Observe` follows, which does."""

    case: Case
    load: bool = True


@dataclass(frozen=True, kw_only=True)
class Prepared:
    seconds: float
    differences: list[str]
    trainable_parameters: int


@dataclass(frozen=True, kw_only=True)
class Probe:
    """Put bare work in the case's place: `kind` is "matmul" or "accumulate"."""

    kind: str
    size: int
    precision: str


@dataclass(frozen=True, kw_only=True)
class Probed:
    """It is ready to be timed."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """Time `count` steps: as one block, or each synchronised on its own."""

    count: int
    each: bool = False


@dataclass(frozen=True, kw_only=True)
class Elapsed:
    """`start` is on the machine's monotonic clock; one duration per block, or one per step."""

    start_nanoseconds: int
    nanoseconds: list[int]


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Ask for the most memory used so far."""


@dataclass(frozen=True, kw_only=True)
class MemoryUsed:
    peak_bytes: int


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Ask for the loss of the last training step."""


@dataclass(frozen=True, kw_only=True)
class LossValue:
    loss: float


@dataclass(frozen=True, kw_only=True)
class Observe:
    """Reload the canonical parameters of `seed`, run `steps` steps and report the evidence."""

    seed: int
    steps: int
    training: bool


@dataclass(frozen=True, kw_only=True)
class StepEvidence:
    """What one step left: its loss, and sketches of tensors by name (see contract/sketch.py)."""

    loss: float | None
    outputs: dict[str, list[float]]
    parameters: dict[str, list[float]]


@dataclass(frozen=True, kw_only=True)
class Observation:
    """Shapes of all tensors by name, the trainable count, and the evidence of each step.

    `counted_flops` is one sample's forward pass by the framework's own counter, if it has one.
    """

    trainable_parameters: int
    counted_flops: float | None
    shapes: dict[str, list[int]]
    steps: list[StepEvidence]


@dataclass(frozen=True, kw_only=True)
class FindShapes:
    """Ask for the shapes of all tensors of a case's model, which is not to be allocated."""

    case: Case


@dataclass(frozen=True, kw_only=True)
class ShapesFound:
    shapes: dict[str, list[int]]


@dataclass(frozen=True, kw_only=True)
class Close:
    """Say goodbye and exit."""


@dataclass(frozen=True, kw_only=True)
class Closed:
    pass


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Instead of an answer: `outcome` is "unsupported", "oom" or "failed"."""

    outcome: str
    reason: str
    traceback: str = field(default="")


MESSAGES = {
    kind.__name__: kind
    for kind in (
        Hello, Describe, FrameworkInfo, Prepare, Prepared, Probe, Probed, Run, Elapsed, Memory,
        MemoryUsed, Loss, LossValue, Observe, Observation, FindShapes, ShapesFound, Close, Closed,
        Failure,
    )
}  # fmt: skip


def encode(message: object) -> bytes:
    """One line of strict JSON (a NaN raises ValueError)."""
    body = {"message": type(message).__name__, **dataclasses.asdict(message)}  # type: ignore[call-overload]
    return json.dumps(body, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> object:
    """The message of one line; raises MalformedMessage naming what is wrong."""
    try:
        body = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise MalformedMessage(f"not JSON: {line[:80]!r} ({error})") from None
    name = body.pop("message", None) if isinstance(body, dict) else None
    if not isinstance(name, str) or name not in MESSAGES:
        raise MalformedMessage(f"not a message of ours: {line[:80]!r}")
    return read_fields(MESSAGES[name], body, where=name)


@functools.cache
def _shape(kind: type) -> tuple[dict[str, typing.Any], dict[str, dataclasses.Field[typing.Any]]]:
    """Annotations and fields by name; run files hold tens of thousands of the same kind."""
    return typing.get_type_hints(kind), {f.name: f for f in dataclasses.fields(kind)}


def read_fields(kind: type, body: dict[str, object], *, where: str) -> typing.Any:
    """A dataclass from plain JSON data, every field checked against its annotation."""
    hints, known = _shape(kind)
    if unknown := sorted(set(body) - set(known)):
        raise MalformedMessage(f"{where} has no field {unknown[0]!r}")
    values = {}
    for name, spec in known.items():
        if name in body:
            values[name] = _value(hints[name], body[name], where=f"{where}.{name}")
        elif spec.default is dataclasses.MISSING and spec.default_factory is dataclasses.MISSING:
            raise MalformedMessage(f"{where} lacks {name!r}")
    return kind(**values)


def _value(hint: typing.Any, value: typing.Any, *, where: str) -> typing.Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        (inner,) = (a for a in arguments if a is not type(None))
        return _value(inner, value, where=where)
    if origin is list and isinstance(value, list):
        return [_value(arguments[0], v, where=f"{where}[{i}]") for i, v in enumerate(value)]
    if origin is dict and isinstance(value, dict):
        return {k: _value(arguments[1], v, where=f"{where}.{k}") for k, v in value.items()}
    if dataclasses.is_dataclass(hint) and isinstance(value, dict):
        return read_fields(typing.cast("type", hint), value, where=where)
    if hint is float and type(value) in (int, float):
        with contextlib.suppress(OverflowError):  # of a whole number
            if math.isfinite(number := float(value)):
                return number
        raise MalformedMessage(f"{where} is not finite: {value!r:.60}")
    if hint is typing.Any or hint is object or type(value) is hint:
        return value
    expected = getattr(hint, "__name__", str(hint)) if origin is None else str(hint)
    raise MalformedMessage(f"{where} should be {expected}, not {value!r:.60}")
