"""What is known of every model in every framework, cheaply: proven, not yet, or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache as once
from functools import partial
from typing import TYPE_CHECKING

from mbench.environments.locate import available
from mbench.machine.devices import usual
from mbench.machine.system import usable_cores
from mbench.proofs import cache
from mbench.proofs.proof_case import proof_case
from mbench.spec.planning import Sweep, plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mbench.environments.environment import Environment
    from mbench.plugins.manager import Plugins
    from mbench.spec.planning import Entry

__all__ = ["Standing", "standings"]


@dataclass(frozen=True)
class Standing:
    """`word` is "proven", "shown in fp32", "not proven yet" or "unsupported"; `reason` says why the
    last.
    """

    word: str
    reason: str = ""


def standings(plugins: Plugins, models: Sequence[str]) -> dict[tuple[str, str], Standing]:
    """By model and framework: whether `mbench verify` of both, as it comes, is remembered.

    It is so where a framework could run without anything being built first.
    """
    adapters = plugins.adapters.unique()
    sweep = Sweep(
        frameworks=list(adapters),
        wanted={"model": models},
        device=usual(),
        threads=usable_cores(),
    )
    homes = {name: once(partial(available, adapter)) for name, adapter in adapters.items()}
    return {
        (entry.case.model, entry.spec.name): standing(entry, homes[entry.spec.name])
        for comparison in plan(sweep, plugins)
        for entry in comparison.entries
    }


def standing(entry: Entry, homes: Callable[[], Sequence[Environment]]) -> Standing:
    if not entry.support.supported:
        return Standing("unsupported", entry.support.reason)
    case = proof_case(entry.case)
    for environment in homes():
        if known := cache.recall(cache.key(entry.adapter, environment, case)):
            return Standing(known.grade)
    return Standing("not proven yet")
