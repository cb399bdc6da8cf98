"""What all comparisons of a run are measured with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mbench.engine.device_memory import DeviceMemory
    from mbench.engine.outcome import CaseEnded
    from mbench.engine.worker import Launcher
    from mbench.environments.environment import Environment
    from mbench.machine.sampler import Sampler
    from mbench.measure.ceiling import Ceilings
    from mbench.measure.environment_pool import EnvironmentPool
    from mbench.progress.progress import Progress
    from mbench.results.records import Run
    from mbench.results.store import RunWriter
    from mbench.spec import protocol
    from mbench.spec.planning import Entry

__all__ = ["Prove", "RunContext"]


class Prove(Protocol):
    """Proves that all do the same work."""

    def __call__(
        self,
        entries: Sequence[tuple[Entry, Environment]],
        lost: Callable[[Entry, CaseEnded], None],
        /,
    ) -> None:
        """`lost` is told of those that do not, or fall short, and why."""


@dataclass(frozen=True, kw_only=True)
class RunContext:
    protocol: protocol.Protocol
    launcher: Launcher
    homes: EnvironmentPool
    store: RunWriter
    progress: Progress
    sampler: Sampler
    prove: Prove | None = None
    """None: it is not asked."""
    ceilings: Ceilings | None = None
    """Finds the machine's ceiling; None: it is not sought."""
    expected: Mapping[int, float | None] = field(default_factory=dict)
    """Seconds that comparisons are going to take, by number, as far as that is known."""
    room: DeviceMemory | None = None
    """The memory of the device, as it was before a comparison; None on the CPU."""
    earlier: Run | None = None
    """The same run before it was interrupted: what it holds is not measured again."""
