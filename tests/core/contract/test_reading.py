"""Records from plain data: what fits is read, and what does not is named with its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import pytest

from mbench.contract.reading import Malformed, Quantity, read_fields


@dataclass(frozen=True, kw_only=True)
class Inner:
    name: str
    count: Annotated[int, Quantity("steps", least=1)] = 1


@dataclass(frozen=True, kw_only=True)
class Record:
    inner: Inner
    others: list[Inner] = field(default_factory=list)
    pairs: list[tuple[int, float]] = field(default_factory=list)
    words: tuple[str, ...] = ()
    by_name: dict[str, float | None] = field(default_factory=dict)
    either: int | str | None = None
    seconds: Annotated[float, Quantity("s")] | None = None
    derived: str = field(default="made", init=False)


def read(*, lenient=False, **body):
    return read_fields(Record, {"inner": {"name": "n"}, **body}, where="Record", lenient=lenient)


@pytest.mark.parametrize(
    ("name", "given", "found"),
    [
        ("others", [{"name": "a", "count": 2}], [Inner(name="a", count=2)]),
        ("pairs", [[1, 2], [3, 4.5]], [(1, 2.0), (3, 4.5)]),
        ("words", ["a", "b"], ("a", "b")),
        ("by_name", {"a": 1, "b": None}, {"a": 1.0, "b": None}),
        ("either", 3, 3),
        ("either", "three", "three"),
        ("either", None, None),
        ("seconds", 0, 0.0),
        ("seconds", None, None),
    ],
)
def test_values_are_read_by_their_annotations(name, given, found):
    assert getattr(read(**{name: given}), name) == found


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"inner": 3}, "Record.inner should be Inner, not 3"),
        (
            {"inner": {"name": "n", "count": 0}},
            "Record.inner.count should be 1 or more, below 2**63, not 0",
        ),
        ({"inner": {"name": "n", "count": 2**63}}, "Record.inner.count is too large"),
        ({"inner": {"name": "n", "size": 1}}, "Record.inner has no field 'size'"),
        ({"others": [{"name": "n"}, {}]}, "Record.others[1] lacks 'name'"),
        ({"pairs": [[1, 2.0, 3]]}, "Record.pairs[0] should be 2 values, not [1, 2.0, 3]"),
        ({"pairs": [[1, 2.0], [1.5, 2.0]]}, "Record.pairs[1] should be int, not 1.5"),
        ({"words": "ab"}, "Record.words should be list, not 'ab'"),
        ({"by_name": {"a": "1"}}, "Record.by_name.a should be float, not '1'"),
        ({"either": True}, "Record.either should be int | str | None, not True"),
        ({"seconds": -1e-9}, "Record.seconds should be 0 or more, below 2**63, not -1e-09"),
        ({"seconds": 1e300}, "Record.seconds should be 0 or more, below 2**63, not 1e+300"),
        ({"derived": "given"}, "Record has no field 'derived'"),
    ],
)
def test_what_is_wrong_is_named_where_it_is(body, said):
    with pytest.raises(Malformed) as caught:
        read(**body)
    assert str(caught.value) == said


def test_what_is_not_known_is_passed_over_at_every_depth_where_that_is_asked_for():
    inner = {"name": "n", "size": 1}
    found = read(lenient=True, inner=inner, others=[inner], derived="given", more=1)
    assert found == Record(inner=Inner(name="n"), others=[Inner(name="n")])


def test_every_text_can_be_printed():
    found = read(words=["half \ud83d", "a whole \U0001f600"], by_name={"\udcff": 1.0})
    assert found.words == ("half ?", "a whole \U0001f600")
    assert found.by_name == {"?": 1.0}
