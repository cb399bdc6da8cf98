"""An option: one description for a keyword of the Python API, a command-line option, and a key in a
suite or a file of defaults.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING

from mbench.errors import UsageError
from mbench.spec import values

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mbench.spec.values import Reader

__all__ = ["Given", "Option", "asked", "asked_fields"]

Given = Mapping[str, object]
"""The values of options by keyword, as their readers return them; those not given are absent."""

Metadata = Mapping[str, "Option"]

METAVARS: Mapping[Reader, str] = {
    values.count: "NUMBER",
    values.frameworks: "LIST",
    values.memory: "SIZE",
    values.modes: "LIST",
    values.names: "LIST",
    values.seconds: "TIME",
    values.share: "PERCENT",
    values.sizes: "NAME=VALUE",
    values.whole: "NUMBER",
}


@dataclass(frozen=True, kw_only=True)
class Option:
    name: str
    """The keyword, as in "max_processes"."""
    says: str
    """What the option means, as worded in the help."""
    read: Reader
    """Converts text, or a value from Python or TOML, to the option's value; raises ValueError."""
    default: str = ""
    """What applies without it, as worded in the help; empty if that needs no words."""
    metavar: str = ""
    """The metavar of its value in the help; empty: it follows from the reader."""
    one_way: bool = False
    """Whether a switch can only be turned on."""
    choices: Callable[[], Sequence[str]] | None = None
    """All values, as far as plugins know them; None if there are too many to list."""
    axis: str = ""
    """The axis of a case that it sets."""

    @property
    def key(self) -> str:
        """Its name in files, and after the hyphens on a command line."""
        return self.name.replace("_", "-")

    @property
    def flag(self) -> str:
        return f"--{self.key}"

    @property
    def is_switch(self) -> bool:
        return self.read is values.switch

    @property
    def shown(self) -> str:
        """The metavar of its value in the help, or one by the kind of value if that is empty."""
        return self.metavar or METAVARS.get(self.read, "TEXT")

    def value(self, given: object) -> object:
        """The value that `given` stands for; raises UsageError, worded for the Python API."""
        try:
            return self.read(given)
        except ValueError as error:
            raise UsageError(f"{self.name}: {error}", option=self.flag) from None

    def words(self, given: object) -> list[str]:
        """`given` as one would type it on a command line."""
        if isinstance(given, bool):
            return [self.flag] if given else [] if self.one_way else [f"--no-{self.key}"]
        if isinstance(given, Mapping):
            return [f"{self.flag}={name}={value}" for name, value in given.items()]
        if self.read is values.sizes and isinstance(given, list | tuple):
            return [f"{self.flag}={size}" for size in given]
        if self.read is values.share and isinstance(given, float):
            return [f"{self.flag}={100 * given:.10g}%"]
        if isinstance(given, str | os.PathLike) or not isinstance(given, Iterable):
            return [f"{self.flag}={given}"]
        if self.read is values.frameworks:
            return [f"{self.flag}={','.join(str(item).replace(',', ',,') for item in given)}"]
        return [f"{self.flag}={','.join(map(str, given))}"]


def asked(
    name: str, read: Reader, says: str, *, usual: str = "", one_way: bool = False
) -> Metadata:
    """Metadata of a dataclass field that the option `name` sets. The help shows `usual`, or the
    field's default.
    """
    return {"asked": Option(name=name, read=read, says=says, default=usual, one_way=one_way)}


def asked_fields(kind: type) -> dict[str, Option]:
    """The options of a dataclass by the field that each sets."""
    found: dict[str, Option] = {}
    for part in reversed(kind.__mro__):
        for field in fields(part) if is_dataclass(part) else ():
            if "asked" in field.metadata:
                found.setdefault(field.name, field.metadata["asked"])
    return found
