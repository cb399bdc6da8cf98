"""What is asked for, complete and as plain data: it can be built by hand, stored and repeated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from mbench.contract.reading import Malformed, read_fields
from mbench.errors import UsageError
from mbench.spec.adaptive import Adaptive
from mbench.spec.arm import Arm
from mbench.spec.presets import written_down
from mbench.spec.protocol import Protocol
from mbench.spec.sweep import Sweep

__all__ = ["AUTO", "Checks", "Experiment", "Launch", "from_plain"]

AUTO = "auto"
"""Instead of a device: the one that the machines which compute are for."""
WITH_HOSTS = "mpi"


@dataclass(frozen=True, kw_only=True)
class Launch:
    """Where workers run, how they are started, and within which limits."""

    launcher: str | None = None
    """None: `local` for one node, else what is detected around mbench."""
    hosts: str = ""
    """Of MPI: "a,b", or "@FILE"; empty where the launcher knows them."""
    device: str = AUTO
    threads: int | None = None
    """Of each process; None: the physical cores, shared among the devices of a node."""
    provision: bool = True
    """Whether environments that do not exist are built."""
    timeout_seconds: float = 900.0
    """Longest wait for any one answer of a worker, or twice what its steps should take."""
    memory_limit_bytes: int | None = None
    """Most memory of a worker, on a device of the device's; None: nearly all that is free."""

    def __post_init__(self) -> None:
        if self.hosts and self.launcher not in (None, WITH_HOSTS):
            raise UsageError(
                f"--hosts goes with --launcher {WITH_HOSTS}, not {self.launcher}", option="--hosts"
            )


@dataclass(frozen=True, kw_only=True)
class Checks:
    """What is done beside measuring."""

    verify: bool = True
    """Whether work is proven equal before it is timed."""
    allow_unequal: bool = False
    """Whether what is not equal is measured all the same."""
    mfu: bool = True
    """Whether the machine's ceiling is measured, of which MFU is a share."""


def read_arms(values: object) -> tuple[Arm, ...]:
    """Raises Malformed."""
    if not isinstance(values, list) or not all(isinstance(text, str) for text in values):
        raise Malformed(f"arms should be a list of texts, not {values!r:.60}")
    return tuple(map(Arm, values))


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Frameworks with their settings, what is measured of them, how, and where.

    Of `arms`, the first is the baseline. Each of `sweeps` multiplies into comparisons of them all.
    Raises UsageError where it contradicts itself.
    """

    arms: Annotated[tuple[Arm, ...], read_arms]
    sweeps: tuple[Sweep, ...] = (Sweep(),)
    protocol: Annotated[Protocol, written_down] = field(default_factory=Adaptive)
    launch: Launch = Launch()
    checks: Checks = Checks()

    def __post_init__(self) -> None:
        if not self.arms:
            raise UsageError("name a framework; mbench list frameworks shows them")
        if not self.sweeps:
            raise UsageError("nothing is to be measured: an experiment needs a sweep")


def from_plain(body: object) -> Experiment:
    """The experiment that was written down as plain data; raises Malformed."""
    if not isinstance(body, dict):
        raise Malformed(f"an experiment should be a mapping, not {body!r:.60}")
    try:
        found: Experiment = read_fields(Experiment, body, where="experiment", lenient=True)
    except UsageError as error:  # parts that contradict each other
        raise Malformed(f"experiment: {error}") from None
    return found
