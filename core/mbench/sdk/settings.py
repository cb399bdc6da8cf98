"""The settings of the case's tier: what reports say about it, and what model files ask for."""

from __future__ import annotations

import contextlib
import os
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mbench.contract.tier import Tier

__all__ = ["building", "described", "setting"]

_settings: ContextVar[Mapping[str, str]] = ContextVar("settings", default=MappingProxyType({}))


@contextlib.contextmanager
def building(settings: Mapping[str, str]) -> Iterator[None]:
    """Models that are built in this context use these settings."""
    token = _settings.set(settings)
    try:
        yield
    finally:
        _settings.reset(token)


def setting(name: str) -> str:
    """A setting of the tier; empty if it has none with that name."""
    return _settings.get().get(name, "")


def described(tier: Tier, compiler: str) -> list[str]:
    """What a reader should know about a defined tier, with one compiler."""
    if not tier.source:
        return []
    parts = (tier.executes.get(compiler, ""), tier.says, f"as in {tier.source}")
    said = ", ".join(part for part in parts if part)
    return [said, *(f"{name}={os.environ.get(name, '')}" for name in tier.variables)]
