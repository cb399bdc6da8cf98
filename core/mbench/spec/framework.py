"""A framework as users name it: "torch", "torch==2.12.0" or "torch@/path/to/python"."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

from mbench.errors import UsageError

__all__ = ["FrameworkSpec", "named", "parse"]

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


@dataclass(frozen=True, kw_only=True)
class FrameworkSpec:
    """One framework of a comparison; `text` is its label, as it was given."""

    text: str
    name: str
    version: str | None = None
    python: Path | None = None


def named(spec: FrameworkSpec, name: str) -> FrameworkSpec:
    """The same under the framework's own name."""
    return replace(spec, name=name, text=name + spec.text[len(spec.name) :])


def parse(text: str) -> FrameworkSpec:
    """Raises UsageError if `text` is none of NAME, NAME==VERSION and NAME@PYTHON."""
    text = text.strip()
    name, at, path = text.partition("@")
    name, equals, version = (name, "", "") if at else text.partition("==")
    if not _NAME.fullmatch(name) or (at and not path) or (equals and not _is_version(version)):
        raise UsageError(
            f"{text!r} names no framework: write NAME, NAME==VERSION or NAME@/path/to/python"
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
