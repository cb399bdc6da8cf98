"""Criteria of rules: Python lambdas, limited to comparisons and arithmetic.

They are parsed, checked against a list of what is allowed, and then evaluated by this module.
Nothing in a rule file is ever executed.
"""

from __future__ import annotations

import ast
import math
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Criterion", "Refused", "Undefined", "Values", "parse"]

LONGEST = 1000
DEEPEST = 40

Values: TypeAlias = "tuple[float, ...]"
"""Values of the metrics that a rule stored."""
Result: TypeAlias = "float | bool | Values"

BOOL, NUMBER, VALUES, LABEL = "a comparison", "a number", "values", "a label"

ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
COMPARISONS: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
FUNCTIONS = ("abs", "bool", "len", "max", "min", "sum")
ALLOWED = "comparisons, + - * / // %, and, or, not, abs, bool, len, max, min, sum"


class Refused(Exception):
    """The criterion is not supported; the message says why in one line."""


class Undefined(Exception):
    """A criterion that has no value here: it divides by zero, or takes the minimum of nothing."""


@dataclass(frozen=True)
class Criterion:
    """A criterion that was checked."""

    text: str
    argument: str
    body: ast.expr
    labels: tuple[str, ...]
    """Rules whose results it reads, in the order of their names in the criterion."""
    of_values: tuple[str, ...]
    """Those rules whose metric values it reads."""
    explicit: bool
    """Whether its result comes from `bool(...)`, `and`, `or`, `not`, or from Python numbers."""

    def of(self, number: float) -> bool:
        """Whether a number meets it. Raises Undefined."""
        return self.holds({self.argument: number}, {})

    def of_labels(self, labels: Mapping[str, float | Values]) -> bool:
        """Whether the stored results of rules meet it. Raises Undefined."""
        return self.holds({}, labels)

    def holds(self, numbers: Mapping[str, float], labels: Mapping[str, float | Values]) -> bool:
        try:
            return bool(Computing(numbers, labels, self.argument).compute(self.body))
        except ZeroDivisionError:
            raise Undefined("it divides by zero") from None
        except OverflowError:
            raise Undefined("it is beyond the range of a float") from None


@dataclass(frozen=True)
class Computing:
    """Evaluates a checked expression with the numbers of a node."""

    numbers: Mapping[str, float]
    labels: Mapping[str, float | Values]
    argument: str

    def number(self, node: ast.expr) -> float:
        found = self.compute(node)
        assert not isinstance(found, tuple)
        return float(found)

    def compute(self, node: ast.expr) -> Result:
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, bool) else float(constant(node))
        if isinstance(node, ast.Name):
            return self.numbers[node.id]
        if isinstance(node, ast.UnaryOp):
            return self.unary(node)
        if isinstance(node, ast.BinOp):
            return ARITHMETIC[type(node.op)](self.number(node.left), self.number(node.right))
        if isinstance(node, ast.BoolOp):
            each = (bool(self.compute(one)) for one in node.values)
            return all(each) if isinstance(node.op, ast.And) else any(each)
        if isinstance(node, ast.Compare):
            ends = [self.number(one) for one in (node.left, *node.comparators)]
            pairs = zip(ends, ends[1:], node.ops, strict=False)
            return all(COMPARISONS[type(how)](one, two) for one, two, how in pairs)
        if isinstance(node, ast.Subscript):
            return self.labels[key_of(node)]
        assert isinstance(node, ast.Call)
        return self.called(node)

    def unary(self, node: ast.UnaryOp) -> Result:
        if isinstance(node.op, ast.Not):
            return not self.compute(node.operand)
        number = self.number(node.operand)
        return -number if isinstance(node.op, ast.USub) else number

    def called(self, node: ast.Call) -> Result:
        if isinstance(node.func, ast.Attribute):
            assert isinstance(node.func.value, ast.Subscript)
            return self.labels[key_of(node.func.value)]
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        given = [self.compute(one) for one in node.args]
        first = given[0]
        if name == "bool":
            return bool(first)
        if name == "len":
            assert isinstance(first, tuple)
            return float(len(first))
        if isinstance(first, tuple):
            numbers = first
        else:
            numbers = tuple(float(one) for one in given if not isinstance(one, tuple))
        if name == "abs":
            return abs(numbers[0])
        if name == "sum":
            return math.fsum(numbers)
        if not numbers:
            raise Undefined(f"there are no values to take the {name}imum of")
        return max(numbers) if name == "max" else min(numbers)


def parse(text: str, *, stored: Mapping[str, bool] | None = None) -> Criterion:
    """A criterion for one number, or, with `stored`, for what earlier rules stored.

    `stored` says for each such rule whether it stored values; the others stored how many metrics
    met their criterion. Raises Refused.
    """
    if len(text) > LONGEST:
        raise Refused(f"a criterion can have at most {LONGEST} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        said = error.msg if isinstance(error, SyntaxError) else "it cannot be parsed"
        raise Refused(f"not an expression: {said}") from None
    if not isinstance(tree, ast.Lambda):
        raise Refused("must be a lambda, such as lambda x: x > 0.05")
    given = tree.args
    extra = (given.posonlyargs, given.kwonlyargs, given.defaults, given.vararg, given.kwarg)
    if len(given.args) != 1 or any(extra):
        raise Refused("the lambda must have one argument, without a default")
    checking = Checking(given.args[0].arg, stored)
    kind = checking.kind(tree.body, 0)
    if kind not in (BOOL, NUMBER):
        raise Refused(f"its result is {kind}; it must be a comparison")
    if kind == NUMBER and stored is None:
        raise Refused("its result is a number; it must be a comparison, such as x > 0.05")
    return Criterion(
        text=text, argument=checking.argument, body=tree.body,
        labels=tuple(dict.fromkeys(checking.labels)),
        of_values=tuple(dict.fromkeys(checking.of_values)),
        explicit=kind == BOOL and explicit(tree.body, checking),
    )  # fmt: skip


def explicit(node: ast.expr, checking: Checking) -> bool:
    """Whether Python returns its own bool here, even if values are NumPy's."""
    if not checking.of_values:
        return True
    if isinstance(node, ast.BoolOp):
        return all(explicit(one, checking) for one in node.values)
    return not isinstance(node, ast.Compare)


class Checking:
    """Finds the kind of each part of an expression, and refuses anything that is not allowed."""

    def __init__(self, argument: str, stored: Mapping[str, bool] | None) -> None:
        self.argument = argument
        self.stored = stored
        self.labels: list[str] = []
        self.of_values: list[str] = []

    def kind(self, node: ast.expr, depth: int) -> str:
        """BOOL, NUMBER, VALUES or LABEL. Raises Refused."""
        if depth > DEEPEST:
            raise Refused(f"nested more than {DEEPEST} deep")
        below = depth + 1
        if isinstance(node, ast.Constant):
            if isinstance(node.value, bool):
                return BOOL
            constant(node)
            return NUMBER
        if isinstance(node, ast.Name):
            return self.name(node)
        if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Invert):
            if isinstance(node.op, ast.Not):
                self.want(node.operand, below, BOOL, NUMBER)
                return BOOL
            self.want(node.operand, below, BOOL, NUMBER)
            return NUMBER
        if isinstance(node, ast.BinOp):
            if type(node.op) not in ARITHMETIC:
                raise Refused(
                    f"the operator {type(node.op).__name__} is not allowed; allowed: {ALLOWED}"
                )
            self.want(node.left, below, BOOL, NUMBER)
            self.want(node.right, below, BOOL, NUMBER)
            return NUMBER
        if isinstance(node, ast.BoolOp):
            for one in node.values:
                self.want(one, below, BOOL)
            return BOOL
        if isinstance(node, ast.Compare):
            for how in node.ops:
                if type(how) not in COMPARISONS:
                    raise Refused("the only comparisons allowed are < <= > >= == !=")
            for one in (node.left, *node.comparators):
                self.want(one, below, BOOL, NUMBER)
            return BOOL
        if isinstance(node, ast.Subscript):
            return self.label(node)
        if isinstance(node, ast.Call):
            return self.call(node, below)
        raise Refused(f"{type(node).__name__} is not allowed; allowed: {ALLOWED}")

    def want(self, node: ast.expr, depth: int, *kinds: str) -> str:
        kind = self.kind(node, depth)
        if kind not in kinds:
            wanted = " or ".join(kinds)
            raise Refused(f"{ast.unparse(node):.40} is {kind}, where {wanted} is expected")
        return kind

    def name(self, node: ast.Name) -> str:
        if node.id != self.argument:
            raise Refused(f"the name {node.id!r:.40} is not known")
        return NUMBER if self.stored is None else LABEL

    def label(self, node: ast.Subscript) -> str:
        if self.stored is None or not isinstance(node.value, ast.Name):
            raise Refused("only the results of rules can be looked up, and only in multi_rules")
        if node.value.id != self.argument:
            raise Refused(f"the name {node.value.id!r:.40} is not known")
        name = key_of(node)
        if name not in self.stored:
            raise Refused(f"there is no rule {name!r:.60} with store: True before this one")
        self.labels.append(name)
        if self.stored[name]:
            self.of_values.append(name)
            return LABEL
        return NUMBER

    def call(self, node: ast.Call, depth: int) -> str:
        if node.keywords or any(isinstance(one, ast.Starred) for one in node.args):
            raise Refused("functions take no keyword arguments and no * here")
        if isinstance(node.func, ast.Attribute):
            of = node.func.value
            if node.func.attr != "values" or node.args or not isinstance(of, ast.Subscript):
                raise Refused(f"the attribute {node.func.attr!r:.40} is not allowed; only "
                              'label["RULE"].values() of a rule that stored values is')  # fmt: skip
            if self.label(of) != LABEL:
                raise Refused(f"rule {key_of(of)!r:.60} stored a count, and has no values")
            return VALUES
        if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
            raise Refused(f"the call {ast.unparse(node):.40} is not allowed; allowed: {ALLOWED}")
        name, kinds = node.func.id, [self.kind(one, depth) for one in node.args]
        numbers = bool(kinds) and all(kind in (BOOL, NUMBER) for kind in kinds)
        if name == "bool" and len(kinds) == 1 and numbers:
            return BOOL
        if name == "abs" and len(kinds) == 1 and numbers:
            return NUMBER
        if name == "len" and kinds in ([VALUES], [LABEL]):
            return NUMBER
        if name in ("min", "max", "sum") and kinds == [VALUES]:
            return NUMBER
        if name in ("min", "max") and len(kinds) > 1 and numbers:
            return NUMBER
        raise Refused(f"{name} is not defined for {', '.join(kinds) or 'nothing'}")


def key_of(node: ast.Subscript) -> str:
    """The rule that is looked up. Raises Refused."""
    key = node.slice
    if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
        raise Refused("a rule is looked up by its name in quotes")
    return key.value


def constant(node: ast.Constant) -> float:
    """The value of a number, which must be finite as a float. Raises Refused."""
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Refused(f"the constant {ascii(value)[:40] if not isinstance(value, int) else ''} is "
                      "not a number")  # fmt: skip
    try:
        found = float(value)
    except OverflowError:
        raise Refused("a number is beyond the range of a float") from None
    if not math.isfinite(found):
        raise Refused("a number is beyond the range of a float")
    return found
