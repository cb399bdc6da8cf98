"""Rules of diagnosis and summaries, checked as they are read: errors name the line and key."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from mbench.fleet.superbench.criterion import Refused, parse
from mbench.fleet.superbench.expressions import compiled, pattern_of
from mbench.fleet.superbench.words import short
from mbench.fleet.superbench.yaml_file import read_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mbench.fleet.superbench.criterion import Criterion
    from mbench.fleet.superbench.expressions import Pattern
    from mbench.fleet.superbench.yaml_file import Located

__all__ = ["FAILURE_CHECK", "MULTI_RULES", "STORE", "VALUE", "VARIANCE", "Rule", "SummaryRule",
           "read_rules", "read_summary_rules"]  # fmt: skip

VARIANCE, VALUE, MULTI_RULES, FAILURE_CHECK = "variance", "value", "multi_rules", "failure_check"
FUNCTIONS = (VARIANCE, VALUE, MULTI_RULES, FAILURE_CHECK)
STORE = "store"
"""What a rule without function and criteria does: it keeps the values of its metrics."""
KEYS = ("function", "criteria", "categories", "store", "metrics")
SUMMARY_KEYS = ("statistics", "categories", "aggregate", "metrics")
MOST_RULES = 1000
STATISTICS = ("count", "max", "mean", "min", "std")
PERCENTILE = re.compile(r"p([1-9][0-9]?)")

Aggregate: TypeAlias = "bool | re.Pattern[str]"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule of diagnosis."""

    name: str
    at: Located
    function: str
    categories: str
    store: bool
    """Whether its result is stored for `multi_rules` instead of accusing a node."""
    criterion: Criterion | None
    patterns: tuple[Pattern, ...]


@dataclass(frozen=True, kw_only=True)
class SummaryRule:
    """A rule of a summary."""

    name: str
    at: Located
    categories: str
    statistics: tuple[str, ...]
    aggregate: Aggregate
    patterns: tuple[Pattern, ...]


def entries(path: Path, keys: Iterable[str]) -> list[tuple[str, Located, dict[str, Located]]]:
    """Every rule of a file with its keys. Raises UsageError."""
    top = read_yaml(path)
    unknown(top, top.mapping(), ("version", "superbench"))
    if "superbench" not in top.mapping():
        raise top.wrong("has no superbench: rules belong under superbench: rules:")
    section = top.mapping()["superbench"]
    unknown(section, section.mapping(), ("rules", "var", "enable"))
    if "rules" not in section.mapping():
        raise section.wrong("has no rules")
    rules = section.mapping()["rules"]
    found = [(name, one, one.mapping()) for name, one in rules.mapping().items()]
    if not found:
        raise rules.wrong("has no rules")
    if len(found) > MOST_RULES:
        raise rules.wrong(f"has more than {MOST_RULES} rules")
    for _, one, given in found:
        unknown(one, given, keys)
    return found


def unknown(at: Located, given: Iterable[str], known: Iterable[str]) -> None:
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(key, list(known), n=1)
            hint = f"did you mean {near[0]}?" if near else f"available: {', '.join(known)}"
            raise at.mapping()[key].wrong(f"there is no key {short(key)!r}; {hint}")


def read_rules(path: Path) -> list[Rule]:
    """The rules of a diagnosis. Raises UsageError with file, line and key."""
    found: list[Rule] = []
    stored: dict[str, bool] = {}
    for name, at, given in entries(path, KEYS):
        if "statistics" in given:
            raise given["statistics"].wrong("belongs in the rules of mbench fleet summary")
        rule = rule_of(name, at, given, stored)
        found.append(rule)
        if rule.store:
            stored[name] = rule.function == STORE
    return found


def rule_of(name: str, at: Located, given: dict[str, Located], stored: dict[str, bool]) -> Rule:
    store = False
    if "store" in given:
        value = given["store"].value
        if not isinstance(value, bool):
            raise given["store"].wrong("must be True or False")
        store = value
    function = STORE
    if "function" in given:
        function = given["function"].text()
        if function not in FUNCTIONS:
            raise given["function"].wrong(f"{function!r:.40} is not one of {', '.join(FUNCTIONS)}")
    elif "criteria" in given or not store:
        raise at.wrong(f"has no function; available: {', '.join(FUNCTIONS)}")
    if function != STORE and "criteria" not in given:
        raise at.wrong("has no criteria, such as lambda x: x > 0.05")
    if "categories" not in given:
        raise at.wrong("has no categories")
    if function == MULTI_RULES and "metrics" in given:
        raise given["metrics"].wrong("multi_rules uses what other rules stored, not metrics")
    if function != MULTI_RULES and "metrics" not in given:
        raise at.wrong("has no metrics")
    criterion = None
    if "criteria" in given:
        text = given["criteria"].text()
        try:
            criterion = parse(text, stored=stored if function == MULTI_RULES else None)
        except Refused as error:
            raise given["criteria"].wrong(f"{short(text)}: {short_line(error)}") from None
    return Rule(
        name=name, at=at, function=function, categories=category(given["categories"]),
        store=store, criterion=criterion, patterns=patterns(given.get("metrics")),
    )  # fmt: skip


def short_line(error: Exception) -> str:
    return " ".join(str(error).split())


def category(at: Located) -> str:
    """A text; a number or a word that YAML takes for another type is used literally."""
    if isinstance(at.value, dict | list) or at.value is None:
        raise at.wrong("must be a string")
    return str(at.value)


def patterns(at: Located | None) -> tuple[Pattern, ...]:
    found = tuple(pattern_of(one) for one in at.texts()) if at else ()
    if at and not found:
        raise at.wrong("has no metric")
    return found


def read_summary_rules(path: Path) -> list[SummaryRule]:
    """The rules of a summary. Raises UsageError with file, line and key."""
    found = []
    for name, at, given in entries(path, SUMMARY_KEYS):
        for key in ("metrics", "statistics", "categories"):
            if key not in given:
                raise at.wrong(f"has no {key}")
        statistics = []
        for one in given["statistics"].texts():
            text = one.text()
            if text not in STATISTICS and not PERCENTILE.fullmatch(text):
                raise one.wrong(f"{text!r:.40} is not one of {', '.join(STATISTICS)}, p1 to p99")
            statistics.append(text)
        found.append(SummaryRule(
            name=name, at=at, categories=category(given["categories"]),
            statistics=tuple(statistics), aggregate=aggregate(given.get("aggregate")),
            patterns=patterns(given["metrics"]),
        ))  # fmt: skip
    return found


def aggregate(at: Located | None) -> Aggregate:
    if at is None:
        return False
    if isinstance(at.value, bool):
        return at.value
    _, loose = compiled(at.text(), at)
    if not loose.groups:
        raise at.wrong("must be True, False or an expression with a group in parentheses")
    return loose
