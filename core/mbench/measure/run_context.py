"""What all comparisons of a run share while they are measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from mbench.spec.experiment import Launch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mbench.engine.memory import DeviceMemory
    from mbench.machine.sampler import Sampler
    from mbench.measure.activity import Listener
    from mbench.measure.ceiling import Ceilings
    from mbench.measure.environment_pool import EnvironmentPool
    from mbench.plugins.launcher import Launcher
    from mbench.results.records import Run
    from mbench.results.store import RunWriter
    from mbench.spec import protocol
    from mbench.spec.adaptive import Adaptive
    from mbench.spec.planning import Comparison

__all__ = ["Measure", "RunContext"]


class Measure(Protocol):
    """Measures the comparisons of a run."""

    def __call__(self, comparisons: Sequence[Comparison], context: RunContext, /) -> None:
        """Any interruption leaves a readable run behind."""


def nothing() -> None:
    """The default look, which records nothing."""


@dataclass(frozen=True, kw_only=True)
class RunContext:
    protocol: protocol.Protocol
    launch: Launch = field(default_factory=Launch)
    launcher: Launcher
    environments: EnvironmentPool
    store: RunWriter
    listener: Listener
    sampler: Sampler
    verify: bool = True
    """Whether work is proven equal before it is timed."""
    allow_unequal: bool = False
    """Whether unequal work is also timed."""
    ceilings: Ceilings | None = None
    """Finds the machine's ceiling; None if it is not measured."""
    expected: Mapping[int, float | None] = field(default_factory=dict)
    """Seconds that comparisons are expected to take, by number, where known."""
    device_memory: DeviceMemory | None = None
    """The device's memory as it was before a comparison; None on the CPU."""
    earlier: Run | None = None
    """The same run before it was continued: what it contains is not measured again."""
    look: Callable[[], None] = nothing
    """Notes what else is measuring on this machine; called while no worker is timed."""
    further: Mapping[int, Adaptive] = field(default_factory=dict)
    """The protocol of comparisons that had ended and get more sets, by number."""
