"""Dataclasses from plain JSON data, every field checked against its annotation."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import types
import typing

__all__ = ["Malformed", "read_fields"]


class Malformed(ValueError):
    """Data that is not what its reader expects; says which part is wrong."""


@functools.cache
def _shape(kind: type) -> tuple[dict[str, typing.Any], dict[str, dataclasses.Field[typing.Any]]]:
    """Annotations and fields by name; run files hold tens of thousands of the same kind."""
    return typing.get_type_hints(kind), {f.name: f for f in dataclasses.fields(kind)}


def read_fields(kind: type, body: dict[str, object], *, where: str) -> typing.Any:
    """A dataclass from plain JSON data, every field checked against its annotation."""
    hints, known = _shape(kind)
    if unknown := sorted(set(body) - set(known)):
        raise Malformed(f"{where} has no field {unknown[0]!r}")
    values = {}
    for name, spec in known.items():
        if name in body:
            values[name] = _value(hints[name], body[name], where=f"{where}.{name}")
        elif spec.default is dataclasses.MISSING and spec.default_factory is dataclasses.MISSING:
            raise Malformed(f"{where} lacks {name!r}")
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
        raise Malformed(f"{where} is not finite: {value!r:.60}")
    if hint is int and type(value) is int and not -(2**63) <= value < 2**63:
        raise Malformed(f"{where} is too large: {value!r:.60}")
    if hint is typing.Any or hint is object or type(value) is hint:
        return value
    expected = getattr(hint, "__name__", str(hint)) if origin is None else str(hint)
    raise Malformed(f"{where} should be {expected}, not {value!r:.60}")
