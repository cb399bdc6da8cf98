"""Reads a YAML file of rules with the line of every key, and without unsafe features.

Tags that create objects, duplicate keys, and aliases that would expand without bounds are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from mbench.errors import UsageError, lacking
from mbench.files import small_text
from mbench.fleet.superbench.words import short

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from yaml.nodes import Node

__all__ = ["Located", "Scalar", "read_yaml"]

MOST_VALUES = 20_000
DEEPEST = 20
TAG = "tag:yaml.org,2002:"

Scalar: TypeAlias = "str | bool | int | float | None"


@dataclass(frozen=True)
class Located:
    """A value in the file, and its location."""

    path: Path
    line: int
    """Counted from 1."""
    key: str
    """Its keys, joined by dots: `superbench.rules.rule1.criteria`."""
    value: dict[str, Located] | list[Located] | Scalar

    def wrong(self, says: str) -> UsageError:
        """An error that says what is wrong with it, in one line with file, line and key."""
        return UsageError(f"{self.path}, line {self.line}, {short(self.key)}: {says}")

    def mapping(self) -> dict[str, Located]:
        if not isinstance(self.value, dict):
            raise self.wrong("must be a mapping of keys to values")
        return self.value

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self.wrong("must be a string")
        return self.value

    def texts(self) -> list[Located]:
        """A list of texts, or a single one."""
        found = self.value if isinstance(self.value, list) else [self]
        for one in found:
            one.text()
        return found


@dataclass
class Budget:
    """What may still be read: aliases can make a file grow without bounds."""

    values: int = MOST_VALUES


def read_yaml(path: Path) -> Located:
    """The file's document; raises UsageError, in one line, for an invalid file."""
    try:
        import yaml
    except ImportError:
        raise lacking("PyYAML", extra="fleet") from None

    text = small_text(path)
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        said = short(" ".join((error.problem or str(error)).split()))
        hint = ""
        if "mapping values" in said:
            hint = "; put a string that contains a colon in quotes"
        raise UsageError(f"{path}, line {line}: not valid YAML: {said}{hint}") from None
    except yaml.YAMLError as error:
        said = short(" ".join(str(error).split()))
        raise UsageError(f"{path} is not valid YAML: {said}") from None
    except RecursionError:
        raise UsageError(f"{path} is nested too deeply") from None
    if node is None:
        raise UsageError(f"{path} is empty: rules belong under superbench: rules:")
    return located(node, path, (), Budget(), ())


def located(
    node: Node, path: Path, keys: tuple[str, ...], budget: Budget, above: tuple[Node, ...]
) -> Located:
    """A node with everything below it."""
    from yaml.nodes import MappingNode, SequenceNode

    at = Located(path, node.start_mark.line + 1, ".".join(keys) or "the file", None)
    budget.values -= 1
    if budget.values < 0:
        raise at.wrong(f"with its aliases expanded, the file has more than {MOST_VALUES:,} values")
    if len(above) > DEEPEST:
        raise at.wrong(f"nested more than {DEEPEST} deep")
    if any(node is one for one in above):
        raise at.wrong("an alias refers to a value that it is part of")
    inside = (*above, node)
    if isinstance(node, MappingNode) and node.tag == f"{TAG}map":
        return Located(path, at.line, at.key, mapping(node, path, keys, budget, inside))
    if isinstance(node, SequenceNode) and node.tag == f"{TAG}seq":
        found = [located(one, path, keys, budget, inside) for one in node.value]
        return Located(path, at.line, at.key, found)
    return Located(path, at.line, at.key, scalar(node, at))


def mapping(
    node: Node, path: Path, keys: tuple[str, ...], budget: Budget, above: Sequence[Node]
) -> dict[str, Located]:
    found: dict[str, Located] = {}
    for key, value in node.value:
        at = Located(path, key.start_mark.line + 1, ".".join(keys) or "the file", None)
        if key.tag == f"{TAG}merge":
            raise at.wrong("merging with << is not supported: write the keys out")
        name = key.value
        if not isinstance(name, str) or not key.tag.startswith(TAG) or not name:
            raise at.wrong("a key must be a string")
        if name in found:
            raise at.wrong(f"{short(name)!r} appears twice, first on line {found[name].line}")
        one = located(value, path, (*keys, name), budget, tuple(above))
        # a block that begins below its key is known by the key's line
        found[name] = Located(path, key.start_mark.line + 1, one.key, one.value)
    return found


def scalar(node: Node, at: Located) -> Scalar:
    """A text, a number, true, false or null as in YAML 1.1; other tags are refused."""
    import yaml
    from yaml.constructor import SafeConstructor
    from yaml.nodes import ScalarNode

    kind = node.tag.removeprefix(TAG)
    if not isinstance(node, ScalarNode) or kind not in ("str", "bool", "int", "float", "null"):
        if isinstance(node, ScalarNode) and kind in ("timestamp", "value"):
            return str(node.value)
        raise at.wrong(f"the tag {short(node.tag)} is not supported")
    if kind == "str":
        return str(node.value)
    try:
        value = SafeConstructor().construct_object(node)
    except (yaml.YAMLError, ValueError, KeyError, OverflowError, AttributeError):
        raise at.wrong("not a valid number") from None
    if value is None or isinstance(value, bool | int | float):
        return value
    raise at.wrong("not a valid value for a rule")
