"""An arm of a comparison, as users write it: a framework with settings, "torch:inductor", and
optionally a name, "new=torch:inductor".
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mbench.contract.axes import AXES, Axis, Variables
from mbench.contract.secrets import conceal, is_hidden, is_secret, masked, masked_word
from mbench.contract.tier import BEST
from mbench.errors import UsageError
from mbench.machine.devices import names
from mbench.plugins.manager import nearest
from mbench.scenarios.find import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from mbench.contract.adapter import Adapter
    from mbench.contract.axes import AxisValues

__all__ = ["Arm", "FrameworkSpec", "labels_of", "named", "parse", "settings", "words"]

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


@dataclass(frozen=True, kw_only=True)
class FrameworkSpec:
    """One framework of a comparison; `text` is how it was given."""

    text: str
    name: str
    version: str | None = None
    python: Path | None = None


def named(spec: FrameworkSpec, name: str) -> FrameworkSpec:
    """The same framework under its own name."""
    return replace(spec, name=name, text=name + spec.text[len(spec.name) :])


def parse(text: str) -> FrameworkSpec:
    """Read NAME, NAME==VERSION or NAME@PYTHON; raises UsageError for anything else."""
    text = text.strip()
    name, at, path = text.partition("@")
    name, equals, version = (name, "", "") if at else text.partition("==")
    if not _NAME.fullmatch(name) or (at and not path) or (equals and not _is_version(version)):
        raise UsageError(
            f"{text!r} is not a framework: write NAME, NAME==VERSION or NAME@/path/to/python"
        )
    return FrameworkSpec(
        text=text,
        name=name,
        version=version if equals else None,
        # Made absolute, but never resolved: a virtual environment's python is a symbolic link.
        python=Path(os.path.abspath(os.path.expanduser(path))) if at else None,
    )


def _is_version(text: str) -> bool:
    from packaging.version import InvalidVersion, Version

    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


T = TypeVar("T")
COLON = re.compile(r"(?<!:):(?!:)")
LABELLED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)=(?!=)(.*)", re.DOTALL)
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
WORDS = tuple(axis for axis in AXES if axis.setting and axis.kind != Variables)
"""The axes that a word can set, apart from variables, whose names are the users'."""
SOUGHT = ("tier", "compiler")
"""The axes whose best value can be searched for."""
OPTIONS = {"model": "--models"}
"""Options of axes that are not named after their axis."""


@dataclass(frozen=True)
class Arm:
    """A framework with settings, as written. A colon in a path or a value is doubled. What precedes
    an equals sign is the arm's own name: "old=torch@/path/to/python".

    Raises UsageError if it names no framework.
    """

    text: str

    def __post_init__(self) -> None:
        framework, *words = self._parts
        if not all(words):
            raise UsageError(
                f"{self.text!r} has an empty setting: write {framework} or {framework}:SETTING"
            )
        parse(framework)

    @property
    def spec(self) -> FrameworkSpec:
        """The framework, without its settings."""
        return parse(self._parts[0])

    @property
    def words(self) -> tuple[str, ...]:
        """Its settings, as written."""
        return tuple(self._parts[1:])

    @property
    def name(self) -> str:
        """Its own name; empty if it was given none."""
        found = LABELLED.fullmatch(self.text.strip())
        return found[1] if found else ""

    def label(self, framework: str, *, located: bool = True) -> str:
        """What reports call it: its name, or what was typed, with the framework's own name and
        without the path of its Python unless `located`.
        """
        plain = self.spec.python is not None and not located
        given = framework if plain else named(self.spec, framework).text
        said = (given, *map(shown, self.words))
        return self.name or ":".join(part.replace(":", "::") for part in said)

    @property
    def shown(self) -> str:
        """The arm as written, without secrets."""
        name = f"{self.name}=" if self.name else ""
        return name + ":".join(shown(part).replace(":", "::") for part in self._parts)

    @property
    def _parts(self) -> list[str]:
        text = self.text.strip()
        text = text[len(self.name) + 1 :] if self.name else text
        return [part.replace("::", ":").strip() for part in COLON.split(text)]


def shown(word: str) -> str:
    """A setting, with the value of a secret hidden."""
    name, equals, value = word.partition("=")
    return masked_word(name, value) if equals and VARIABLE.fullmatch(name) else masked(word)


def settings(
    arm: Arm,
    adapter: Adapter,
    *,
    wanted: Mapping[str, Sequence[str]],
    others: Collection[Adapter],
    sizes: Collection[str],
) -> AxisValues:
    """What an arm sets, by axis; raises UsageError with a hint for what it cannot set.

    `wanted` are the values of axes that apply to all arms, `others` are adapters that may have the
    compiler asked for, and `sizes` are those of the models.
    """
    found: dict[str, str | int] = {}
    variables: dict[str, str] = {}
    for word in arm.words:
        name, equals, value = word.partition("=")
        if word in (BEST, *(f"{axis}={BEST}" for axis in SOUGHT)):
            raise UsageError(
                f"{arm.shown}: the best compiler is searched for in all arms alike; give "
                f"--tier {BEST} for all"
            )
        if equals and VARIABLE.fullmatch(name):
            if is_secret(name) and is_hidden(value):
                raise UsageError(
                    f"{arm.shown}: the value of {name} is secret, so no run has stored it; give it "
                    "again"
                )
            once(arm, variables, name, value)
        elif axis := axis_of(word, adapter):
            once(arm, found, axis.name, read(arm, axis, value if equals else word, adapter))
        else:
            raise refused(arm, word, adapter, others=others, sizes=sizes)
    for axis_name in found:
        if len(several := wanted.get(axis_name, ())) > 1:
            raise UsageError(
                f"{arm.shown} sets the {axis_name}, but --{axis_name} {','.join(several)} sweeps "
                "it; give one of them"
            )
        if axis_name in SOUGHT and BEST in wanted.get("tier", ()):
            raise UsageError(
                f"{arm.shown} sets the {axis_name}, but --tier {BEST} searches for it; give one "
                "of them"
            )
    conceal(variables)
    return {**found, "variables": dict(sorted(variables.items()))} if variables else found


def once(arm: Arm, into: dict[str, T], name: str, value: T) -> None:
    if into.setdefault(name, value) != value:
        raise UsageError(
            f"{arm.shown} sets {name} to {into[name]} and to {value}; give one of them"
        )


def axis_of(word: str, adapter: Adapter) -> Axis | None:
    """The axis that a word sets, by its name or by one of its values; None if there is none."""
    name, equals, _ = word.partition("=")
    if equals:
        return next((axis for axis in WORDS if axis.name == name.replace("-", "_")), None)
    found = [axis for axis in WORDS if word in values(axis, adapter)]
    return max(found, key=lambda axis: axis.name == "compiler", default=None)


def values(axis: Axis, adapter: Adapter) -> Collection[str]:
    """The named values of an axis, except `best`, which is searched for in all arms alike."""
    known = adapter.compilers if axis.name == "compiler" else axis.known
    return [value for value in known if value != BEST]


def read(arm: Arm, axis: Axis, text: str, adapter: Adapter) -> str | int:
    if known := values(axis, adapter):
        if text not in known:
            raise UsageError(f"{arm.shown}: unknown {axis.name} {text!r}{nearest(text, known)}")
        return text
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"{arm.shown}: {text!r} is not a whole number of 1 or more")
    return int(text)


def refused(
    arm: Arm, word: str, adapter: Adapter, *, others: Collection[Adapter], sizes: Collection[str]
) -> UsageError:
    """Why a word is not a setting, and what to write instead."""
    name, equals, value = word.partition("=")
    name, value = (name.replace("-", "_"), value) if equals else ("", word)
    elsewhere: Mapping[str, Collection[str]] = {"device": names(), "mode": SCENARIOS}
    for axis in AXES:
        known = elsewhere.get(axis.name, axis.known)
        if not axis.setting and (axis.name == name or (not equals and word in known)):
            option = OPTIONS.get(axis.name, f"--{axis.name.replace('_', '-')}")
            return shared(arm, axis.name, f"{option} {value}")
    if name in sizes:
        return shared(arm, name, f"--size {word}")
    if VARIABLE.fullmatch(word):
        return UsageError(f"{arm.shown}: a variable needs a value; write {word}=VALUE")
    if rivals := sorted(other.name for other in others if word in other.compilers):
        return UsageError(
            f"{arm.shown}: {word} is a compiler of {' and '.join(rivals)}; {adapter.name} has "
            f"{', '.join(adapter.compilers)}"
        )
    hint = nearest(word, words(adapter))
    return UsageError(f"{arm.shown}: {adapter.name} has no setting {word!r}{hint}")


def shared(arm: Arm, name: str, option: str) -> UsageError:
    return UsageError(
        f"{arm.shown}: all arms must have the same {name.replace('_', ' ')}, or the work would "
        f"not be equal; give {option} for all"
    )


def words(adapter: Adapter) -> list[str]:
    """What may be written after a framework, except variables."""
    return [
        spelled(axis, value, adapter) for axis in WORDS for value in values(axis, adapter) or ["1"]
    ]


def spelled(axis: Axis, value: str, adapter: Adapter) -> str:
    """A setting as one word, with its axis if the word alone is ambiguous."""
    return value if axis_of(value, adapter) is axis else f"{axis.name}={value}"


def labels_of(arms: Sequence[Arm], specs: Sequence[FrameworkSpec]) -> list[str]:
    """What reports call the arms of these frameworks. The path of a Python is left out unless it
    tells two arms of a framework apart.
    """
    written: dict[str, set[str]] = defaultdict(set)
    for spec in specs:
        written[spec.name].add(spec.text)
    return tell_apart(
        [
            arm.label(spec.name, located=len(written[spec.name]) > 1)
            for arm, spec in zip(arms, specs, strict=True)
        ]
    )


def tell_apart(labels: Sequence[str]) -> list[str]:
    """Number the labels that occur more than once: torch#1, torch#2."""
    counts, seen = Counter(labels), Counter[str]()
    result = []
    for text in labels:
        seen[text] += 1
        result.append(f"{text}#{seen[text]}" if counts[text] > 1 else text)
    return result
