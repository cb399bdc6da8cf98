"""What all comparisons of a run are measured with."""

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
        """Whatever interrupts it leaves a readable run behind."""


def nothing() -> None:
    """Where nobody wants to know."""


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
    """Whether unequal work is timed, too."""
    ceilings: Ceilings | None = None
    """Finds the machine's ceiling; None: it is not measured."""
    expected: Mapping[int, float | None] = field(default_factory=dict)
    """Seconds that comparisons are going to take, by number, as far as that is known."""
    device_memory: DeviceMemory | None = None
    """The memory of the device, as it was before a comparison; None on the CPU."""
    earlier: Run | None = None
    """The same run before it is continued: what it holds is not measured again."""
    look: Callable[[], None] = nothing
    """Notes what else measures on this machine, while no worker is timed."""
    further: Mapping[int, Adaptive] = field(default_factory=dict)
    """The protocol of comparisons that had ended and get further sets, by number."""
