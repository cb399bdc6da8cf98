"""A result of `mbench doctor`."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FAIL", "OK", "WARN", "Check", "fail", "ok", "warn"]

OK, WARN, FAIL = "ok", "warn", "fail"


@dataclass(frozen=True, kw_only=True)
class Check:
    """What was found, and what to do about it."""

    name: str
    status: str
    """OK; WARN: measurements suffer; FAIL: nothing can be measured."""
    found: str
    hint: str = ""
    """What to do; empty if the status is OK."""


def ok(name: str, found: str) -> Check:
    return Check(name=name, status=OK, found=found)


def warn(name: str, found: str, hint: str) -> Check:
    return Check(name=name, status=WARN, found=found, hint=hint)


def fail(name: str, found: str, hint: str) -> Check:
    return Check(name=name, status=FAIL, found=found, hint=hint)
