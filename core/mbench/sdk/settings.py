"""The settings of the case's tier, as model files ask for them while a model is built."""

from __future__ import annotations

import contextlib
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["building", "setting"]

_settings: ContextVar[Mapping[str, str]] = ContextVar("settings", default=MappingProxyType({}))


@contextlib.contextmanager
def building(settings: Mapping[str, str]) -> Iterator[None]:
    """Models that are built within heed these."""
    token = _settings.set(settings)
    try:
        yield
    finally:
        _settings.reset(token)


def setting(name: str) -> str:
    """A setting of the tier; empty where it has none of that name."""
    return _settings.get().get(name, "")
