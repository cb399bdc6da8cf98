"""Criteria of rules are read as data and never executed: what they may hold and what they give."""

from __future__ import annotations

import random

import pytest

from mbench.fleet.superbench.criterion import Refused, Undefined, parse

CRITERIA = {
    "lambda x:x>0.05": lambda x:x>0.05,
    "lambda x:x<-0.05": lambda x:x<-0.05,
    "lambda x: x != 0": lambda x: x != 0,
    "lambda x: x == 3": lambda x: x == 3,
    "lambda x: -0.05 < x <= 0.05": lambda x: -0.05 < x <= 0.05,
    "lambda x: abs(x) > 0.06": lambda x: abs(x) > 0.06,
    "lambda x: x > 1 or x < -1": lambda x: x > 1 or x < -1,
    "lambda x: not (x >= 0 and x < 2)": lambda x: not (x >= 0 and x < 2),
    "lambda x: x * 2 - 1 > x / 3 + 1": lambda x: x * 2 - 1 > x / 3 + 1,
    "lambda x: x % 3 >= 1": lambda x: x % 3 >= 1,
    "lambda x: x // 2 < 1": lambda x: x // 2 < 1,
    "lambda x: max(x, 1, 2) == x": lambda x: max(x, 1, 2) == x,
    "lambda x: min(x, -x) < -2": lambda x: min(x, -x) < -2,
    "lambda x: bool(x)": lambda x: bool(x),
    "lambda x: True": lambda x: True,
    "lambda value: (value > 1) + (value > 2) >= 2": lambda value: (value > 1) + (value > 2) >= 2,
    "lambda x: bool(x > 1) == False": lambda x: not bool(x > 1),
}  # fmt: skip


@pytest.mark.parametrize(("text", "python"), CRITERIA.items())
def test_a_criterion_gives_what_python_gives(text, python):
    criterion = parse(text)
    draw = random.Random(text)
    for number in [0.0, 1.0, -1.0, 2.0, 3.0, 0.05, -0.05, *(draw.gauss(0, 2) for _ in range(50))]:
        assert criterion.of(number) is bool(python(number)), number


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("lambda x: __import__('os').system('true') > 0", "attribute"),
        ("lambda x: open('/tmp/x') > 0", "call"),
        ("lambda x: x.real > 0", "Attribute is not allowed"),
        ("lambda x: x.__class__.__bases__ == 0", "Attribute is not allowed"),
        ("lambda x: [y for y in (1, 2)] == x", "ListComp is not allowed"),
        ("lambda x: sum(y for y in (1, 2)) > x", "GeneratorExp is not allowed"),
        ("lambda x: (lambda y: y)(x) > 0", "call"),
        ("lambda x: 10**10**10 > x", "operator Pow"),
        ("lambda x: x << 10000000 > 1", "operator LShift"),
        ("lambda x: x | 1 > 0", "operator BitOr"),
        ("lambda x: ~x > 0", "UnaryOp"),
        ("lambda x: 'a' * 1000000000 > x", "constant"),
        ("lambda x: x > 1j", "constant"),
        ("lambda x: x > None", "constant"),
        ("lambda x: x if x else 1", "IfExp"),
        ("lambda x: (x := 2) > 1", "NamedExpr"),
        ("lambda x: x is None", "comparisons"),
        ("lambda x: x in (1, 2)", "comparisons"),
        ("lambda x: f'{x}' > 0", "JoinedStr"),
        ("lambda x: y > 0", "name 'y'"),
        ("lambda x: x", "must be a comparison"),
        ("lambda x: x + 1", "must be a comparison"),
        ("lambda x, y: x > y", "one argument"),
        ("lambda x=print(1): x > 0", "one argument"),
        ("lambda *x: x > 0", "one argument"),
        ("lambda: 1 > 0", "one argument"),
        ("print('executed')", "must be a lambda"),
        ("x > 0", "must be a lambda"),
        ("", "not an expression"),
        ("lambda x: x >", "not an expression"),
        ("lambda x: min(x)) > 0", "not an expression"),
        ("lambda x: min(x) > 0", "min is not defined"),
        ("lambda x: len(x) > 0", "len is not defined"),
        ("lambda x: abs(x, x) > 0", "abs is not defined"),
        ("lambda x: max(*x) > 0", "keyword arguments"),
        ("lambda x: round(x) > 0", "call"),
        ("lambda x: x['a'] > 0", "looked up"),
        ("lambda x: x > 1" + "0" * 400, "beyond the range of a float"),
        ("lambda x: x > 1e400", "beyond the range of a float"),
        ("lambda x: x > " + "(" * 300 + "1" + ")" * 300, "not an expression"),
        ("lambda x: x > " + "-" * 200 + "1", "nested more than"),
        ("lambda x: x > 1" + " + 1" * 400, "at most 1000"),
        ("lambda x: x > \x00", "not an expression"),
    ],
    ids=lambda value: f"{value!r:.40}",
)
def test_anything_else_is_refused_in_one_line(text, says):
    with pytest.raises(Refused, match=says) as caught:
        parse(text)
    assert len(str(caught.value)) < 250
    assert "\n" not in str(caught.value)


def test_a_criterion_without_a_value_says_so():
    with pytest.raises(Undefined, match="divides by zero"):
        parse("lambda x: 1 / x > 2").of(0.0)
    assert parse("lambda x: x * 1e300 > 1").of(1e300) is True


STORED = {"counts": False, "values": True}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('lambda label: bool(label["counts"] >= 2)', True),
        ('lambda label: label["counts"] + label["counts"] > 4', False),
        ('lambda label: bool(min(label["values"].values()) < 1)', False),
        ('lambda label: min(label["values"].values())/max(label["values"].values()) < 0.95', True),
        ('lambda label: sum(label["values"].values()) == 6', True),
        ('lambda label: len(label["values"]) == 3 and len(label["values"].values()) == 3', True),
        ("lambda label: abs(label['counts']) == 2", True),
    ],
)
def test_rules_are_combined_by_what_others_stored(text, expected):
    criterion = parse(text, stored=STORED)
    assert criterion.of_labels({"counts": 2.0, "values": (1.0, 2.0, 3.0)}) is expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('lambda label: label["other"] > 1', "no rule 'other' with store: True before"),
        ("lambda label: label[0] > 1", "in quotes"),
        ('lambda label: label["counts"]["a"] > 1', "in multi_rules|looked up"),
        ('lambda label: label["values"] > 1', "is a label"),
        ('lambda label: label["values"].keys() > 1', "attribute 'keys'"),
        ('lambda label: label["counts"].values() > 1', "stored a count"),
        ('lambda label: min(label["counts"]) > 1', "min is not defined"),
        ("lambda label: label.values() > 1", "attribute 'values'"),
        ("lambda label: label > 1", "is a label"),
        ('lambda label: label["values"].values()', "must be a comparison"),
    ],
)
def test_labels_that_are_not_there_are_refused(text, says):
    with pytest.raises(Refused, match=says):
        parse(text, stored=STORED)


def test_the_smallest_of_nothing_has_no_value():
    criterion = parse('lambda label: min(label["values"].values()) > 0', stored=STORED)
    with pytest.raises(Undefined, match="minimum"):
        criterion.of_labels({"values": ()})
    assert not criterion.explicit, "NumPy's bool is none of Python's"
