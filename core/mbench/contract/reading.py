"""Dataclasses from plain JSON data, every field checked against its annotation."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import sys
import types
import typing
from collections.abc import Mapping

from mbench.contract.compat import CHECKS, hints_of, zipped

__all__ = ["Malformed", "Quantity", "printable", "read_fields"]

T = typing.TypeVar("T")
Reader = typing.Callable[[object], typing.Any]


class Malformed(ValueError):
    """Data is not what its reader expects; the message says which part is wrong."""


@dataclasses.dataclass(frozen=True)
class Quantity:
    """What a number counts or measures, as part of its annotation: its unit and its minimum.

    The number must be below 2**63, so that what is computed from such numbers is finite.
    """

    unit: str
    least: float = 0


class _Wrong(Exception):
    """What is wrong; each enclosing reader prepends where that is."""


def read_fields(
    kind: type[T], body: Mapping[str, object], *, where: str, lenient: bool = False
) -> T:
    """A dataclass from plain JSON data, every field checked against its annotation.

    Raises Malformed. Data beyond the fields is an error or, if `lenient`, ignored.
    A type annotated with a function is read by it; one with a Quantity is checked against it.
    """
    if not CHECKS:
        return typing.cast("T", _trusted(kind, body))
    try:
        return typing.cast("T", _reader(typing.cast("type", kind), lenient)(body))
    except _Wrong as wrong:
        raise Malformed(f"{where}{wrong}") from None


def _trusted(kind: type, body: Mapping[str, object]) -> typing.Any:
    """`read_fields` without checks: names in annotations are looked up in the module of `kind`."""
    names = vars(sys.modules[kind.__module__])
    values = dict(body)
    for field in dataclasses.fields(kind):
        inner = names.get(str(field.type).partition(" | ")[0])
        value = values.get(field.name)
        if dataclasses.is_dataclass(inner) and isinstance(value, dict):
            values[field.name] = _trusted(typing.cast("type", inner), value)
    return kind(**values)


@functools.lru_cache(maxsize=4096)
def _reader(hint: typing.Any, lenient: bool) -> Reader:
    """A reader for that annotation, cached: run files hold hundreds of thousands of values."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        kind, extra = arguments
        return _held(_reader(kind, lenient), extra) if isinstance(extra, Quantity) else extra
    if origin in (typing.Union, types.UnionType):
        members = [argument for argument in arguments if argument is not types.NoneType]
        readers = [_reader(member, lenient) for member in members]
        read = readers[0] if len(readers) == 1 else _one_of(readers, str(hint))
        return read if len(members) == len(arguments) else _optional(read)
    if origin is tuple and arguments[-1] is not ...:
        return _row([_reader(argument, lenient) for argument in arguments])
    if origin in (list, tuple):
        return _many(origin, _reader(arguments[0], lenient))
    if origin in (dict, Mapping):
        return _named(_reader(arguments[1], lenient))
    if dataclasses.is_dataclass(hint):
        return _record(typing.cast("type", hint), lenient)
    return PLAIN.get(hint) or _exactly(hint)


def _record(kind: type, lenient: bool) -> Reader:
    hints = hints_of(kind)
    fields = {field.name: field for field in dataclasses.fields(kind) if field.init}
    readers = {name: _reader(hints[name], lenient) for name in fields}
    none = dataclasses.MISSING
    required = {n for n, f in fields.items() if f.default is none and f.default_factory is none}

    def read(body: object) -> object:
        if type(body) is not dict:
            raise _Wrong(f" should be {kind.__name__}, not {body!r:.60}")
        unknown = set(body) - set(readers)
        if unknown and not lenient:
            raise _Wrong(f" has no field {min(unknown)!r:.60}")
        values = {}
        for name, reader in readers.items():
            if name in body:
                try:
                    values[name] = reader(body[name])
                except _Wrong as wrong:
                    raise _Wrong(f".{name}{wrong}") from None
            elif name in required:
                raise _Wrong(f" lacks {name!r}")
        return kind(**values)

    return read


def _many(kind: type, read: Reader) -> Reader:
    def read_all(values: object) -> object:
        items = _list(values)
        found: list[object] = []
        try:
            for value in items:
                found.append(read(value))  # their number says which item is wrong
        except _Wrong as wrong:
            raise _Wrong(f"[{len(found)}]{wrong}") from None
        return kind(found)

    return read_all


def _row(readers: list[Reader]) -> Reader:
    def read(values: object) -> object:
        found = _list(values)
        if len(found) != len(readers):
            raise _Wrong(f" should be {len(readers)} values, not {values!r:.60}")
        return tuple(reader(value) for reader, value in zipped(readers, found))

    return read


def _named(read: Reader) -> Reader:
    def read_all(values: object) -> object:
        found = {}
        for name, value in _dict(values).items():
            try:
                found[printable(name)] = read(value)
            except _Wrong as wrong:
                raise _Wrong(f".{name}{wrong}") from None
        return found

    return read_all


def _optional(read: Reader) -> Reader:
    return lambda value: None if value is None else read(value)


def _one_of(readers: list[Reader], said: str) -> Reader:
    def read(value: object) -> object:
        for reader in readers:
            with contextlib.suppress(_Wrong):
                return reader(value)
        raise _Wrong(f" should be {said}, not {value!r:.60}")

    return read


def _held(read: Reader, quantity: Quantity) -> Reader:
    def read_one(value: object) -> object:
        found = read(value)
        if not quantity.least <= found < 2**63:
            raise _Wrong(f" should be {quantity.least} or more, below 2**63, not {found!r:.60}")
        return found

    return read_one


def _exactly(kind: type) -> Reader:
    def read(value: object) -> object:
        if type(value) is not kind:
            raise _Wrong(f" should be {kind.__name__}, not {value!r:.60}")
        return value

    return read


def _whole(value: object) -> int:
    found: int = _int(value)
    if not -(2**63) <= found < 2**63:
        raise _Wrong(" is too large")
    return found


def _real(value: object) -> float:
    found = float(_whole(value)) if type(value) is int else float(_float(value))
    if not math.isfinite(found):
        raise _Wrong(f" is not finite: {value!r}")
    return found


def printable(text: str) -> str:
    """`text` with "?" for lone surrogates, which file names and JSON may hold."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def _text(value: object) -> str:
    return printable(_str(value))


_int, _float, _str, _list, _dict = map(_exactly, (int, float, str, list, dict))
PLAIN: dict[object, Reader] = {
    int: _whole, float: _real, str: _text, typing.Any: lambda value: value,
}  # fmt: skip
