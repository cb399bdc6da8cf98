"""Tiers: how far a framework is tuned, each following the framework's own documentation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mbench.contract.compat import Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["BEST", "DEFAULT", "TIERS", "TUNED", "Tier", "tier_of"]

DEFAULT = "default"
"""What the framework's documentation shows first."""
TUNED = "tuned"
"""What its own performance guide recommends."""
BEST = "best"
"""Tuned, and with the fastest of its compilers, found by trying them."""
TIERS = (DEFAULT, TUNED, BEST)


@dataclass(frozen=True, kw_only=True)
class Tier:
    """What an adapter sets in one tier, and where its framework says so."""

    says: str
    """What it is under any compiler, in one line; empty if `executes` says it all."""
    source: str
    """Title and section of the framework's documentation."""
    compilers: Sequence[str]
    """If no compiler is requested, a case gets the first of these that supports it."""
    on_cuda: Sequence[str] = ()
    """The compilers to choose from on CUDA instead, if they differ."""
    executes: Mapping[str, str] = field(default_factory=dict)
    """How it runs a step, by compiler; compilers that are not listed have no description."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of the worker; those that the user has set are left unchanged."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Whatever else the adapter's runtime does in this tier, such as the layout in memory."""

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
    """What `adapter` does in a tier; None if it does not know its framework's advice.

    An adapter that names no tiers has one: its first compiler, unchanged. The best compiler is
    looked for in the tuned tier, or in the default one if there is no advice.
    """
    tiers = adapter.tiers
    if name == BEST:
        name = TUNED if TUNED in tiers else DEFAULT
    if name == DEFAULT and DEFAULT not in tiers:
        plain = next(iter(adapter.compilers))
        return Tier(says="with default settings", source="", compilers=(plain,))
    return tiers.get(name)
