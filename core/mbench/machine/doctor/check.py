"""What one look at the machine found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Check", "fail", "ok", "warn"]


@dataclass(frozen=True, kw_only=True)
class Check:
    """`found` is what there is; `mend` what to do about it, empty where all is well.

    "warn": measuring works, and its numbers suffer. "fail": it does not work.
    """

    name: str
    status: Literal["ok", "warn", "fail"]
    found: str
    mend: str = ""


def ok(name: str, found: str) -> Check:
    return Check(name=name, status="ok", found=found)


def warn(name: str, found: str, mend: str) -> Check:
    return Check(name=name, status="warn", found=found, mend=mend)


def fail(name: str, found: str, mend: str) -> Check:
    return Check(name=name, status="fail", found=found, mend=mend)
