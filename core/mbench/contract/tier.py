"""Tiers: how far a framework is tuned, each by what its own documentation says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mbench.contract.compat import Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["BEST", "DEFAULT", "TIERS", "TUNED", "Tier", "tier_of"]

DEFAULT = "default"
"""As the framework's documentation shows first."""
TUNED = "tuned"
"""As its own guide to performance says."""
BEST = "best"
"""Tuned, and under the fastest of its compilers, found by trying."""
TIERS = (DEFAULT, TUNED, BEST)


@dataclass(frozen=True, kw_only=True)
class Tier:
    """What an adapter sets in one tier, and where its framework says so."""

    says: str
    """What it is under any compiler, in one line; empty where `executes` is all there is."""
    source: str
    """Of the framework's documentation: title and section."""
    compilers: Sequence[str]
    """The first of them that can do a case is its compiler, where none is asked for."""
    on_cuda: Sequence[str] = ()
    """The same on CUDA, where that differs."""
    executes: Mapping[str, str] = field(default_factory=dict)
    """How it runs a step, by compiler; nothing is said of a compiler that is not here."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of the worker; what the user has set stays as it is."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Whatever else the adapter's runtime does by this tier, such as the layout in memory."""

    def order(self, device: str) -> Sequence[str]:
        """The compilers to prefer on a device."""
        return self.on_cuda if device == "cuda" and self.on_cuda else self.compilers


class HasTiers(Protocol):
    """An adapter, as far as tiers go."""

    @property
    def compilers(self) -> Mapping[str, str]: ...

    @property
    def tiers(self) -> Mapping[str, Tier]: ...


def tier_of(adapter: HasTiers, name: str) -> Tier | None:
    """What `adapter` does in a tier; None where it does not know its framework's advice.

    An adapter that names no tiers has one: its first compiler, as it comes. The best compiler is
    looked for in the tuned tier, or in the default one where there is no advice.
    """
    tiers = adapter.tiers
    if name == BEST:
        name = TUNED if TUNED in tiers else DEFAULT
    if name == DEFAULT and DEFAULT not in tiers:
        plain = next(iter(adapter.compilers))
        return Tier(says="with default settings", source="", compilers=(plain,))
    return tiers.get(name)
