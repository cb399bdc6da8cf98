"""An experiment, complete and as plain data: it can be built by hand, stored and repeated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from mbench.contract.axes import AXES, Axis
from mbench.contract.quantities import CONVENTIONS, WHOLE
from mbench.contract.reading import Malformed, read_fields
from mbench.errors import UsageError
from mbench.plugins.manager import nearest
from mbench.spec.adaptive import Adaptive
from mbench.spec.arm import Arm
from mbench.spec.option import asked
from mbench.spec.presets import written_down
from mbench.spec.protocol import Protocol
from mbench.spec.values import choice, memory, seconds, switch, text

__all__ = ["AUTO", "FREE", "Checks", "Experiment", "Launch", "Sweep", "Value",
           "differences", "from_plain"]  # fmt: skip

Value = str | int | bool


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """What is measured. Raises UsageError for an axis that does not exist or has no values."""

    axes: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    """The values of each axis that is asked for, by its name. Models are names, patterns, families
    or `zoo`; a batch size may be `max`, a compiler `default` or `best`, a tier `all`."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Sizes that replace those of the models that have them."""
    operators: bool = False
    """Whether the operators of the models are measured, each once, instead of the models."""
    amp: bool | None = None
    """Whether the precision is the mixed one that the frameworks have on the device; None: that of
    `axes` applies."""

    def __post_init__(self) -> None:
        known = {axis.name for axis in AXES if axis.many}
        for name, values in self.axes.items():
            if name not in known:
                raise UsageError(f"unknown axis {name!r}{nearest(name, known)}")
            if not values:
                raise UsageError(f"the axis {name} has no values", option=f"--{name}")

    def values(self, axis: Axis) -> tuple[Value, ...]:
        """The values asked for, or the usual one; none if that is up to each model."""
        usual = axis.usual if axis.first is None else axis.first
        return self.axes.get(axis.name) or (() if usual is None else (usual,))


AUTO = "auto"
"""Stands for the best device that all machines have."""
FREE = ("launcher", "hosts", "provision", "timeout_seconds")
"""Fields of a launch that do not affect results."""


@dataclass(frozen=True, kw_only=True)
class Launch:
    """Where workers run, how they are started, and within which limits."""

    launcher: str | None = field(
        default=None,
        metadata=asked("launcher", text, "What starts the processes: local, mpi, slurm, ray.",
                       usual="mpi with --hosts, local for one node, otherwise the detected "
                       "cluster"),
    )  # fmt: skip
    """What starts the processes. None: `mpi` with hosts, `local` for one node, otherwise the
    detected cluster."""
    hosts: str | None = field(
        default=None,
        metadata=asked("hosts", text, "MPI hosts, one per node: A,B or n[01-08]; or @FILE, which "
                       "lists one per line.", usual="those of the batch job"),
    )  # fmt: skip
    device: str = AUTO
    """Where the frameworks compute: a kind of device, or `auto`."""
    threads: int | None = None
    """Threads of each process. None: the machine's default, divided by the devices of a node."""
    provision: bool = field(
        default=True,
        metadata=asked("provision", switch, "Build a framework's environment if there is none."),
    )
    timeout_seconds: float = field(
        default=900.0,
        metadata=asked("timeout", seconds, "Longest wait for a worker's answer."),
    )
    """Longest wait for a worker's answer; more if its steps should take more than half of it."""
    memory_limit_bytes: int | None = field(
        default=None,
        metadata=asked("memory_limit", memory, "Memory limit per worker, such as 6GiB; on CUDA, "
                       "of the GPU's memory.", usual="nearly all free memory; on CUDA its share"),
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Checks:
    """What is done besides measuring."""

    mfu: bool = field(
        default=True,
        metadata=asked("mfu", switch, "Measure the machine's peak, of which MFU is a share.",
                       usual="mfu, but not with --fast"),
    )  # fmt: skip
    flops: str = field(
        default=WHOLE,
        metadata=asked("flops", choice(*CONVENTIONS), "How MFU counts causal attention: whole, as "
                       "torchtitan does, or causal, without the half that the mask discards, as "
                       "MaxText does."),
    )  # fmt: skip
    verify: bool = field(
        default=True,
        metadata=asked("verify", switch, "Prove equal work before it is timed; proofs are "
                       "remembered."),
    )  # fmt: skip
    allow_unequal: bool = field(
        default=False,
        metadata=asked("allow_unequal", switch, "Measure and compare even where the proof fails.",
                       one_way=True),
    )  # fmt: skip


def read_arms(values: object) -> tuple[Arm, ...]:
    """Arms from the strings that a run stored; raises Malformed."""
    if not isinstance(values, list) or not all(isinstance(text, str) for text in values):
        raise Malformed(f"arms should be a list of strings, not {values!r:.60}")
    return tuple(map(Arm, values))


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Frameworks with their settings, what is measured of them, how, and where.

    Raises UsageError if it contradicts itself.
    """

    arms: Annotated[tuple[Arm, ...], read_arms]
    """Frameworks with their settings, as they are written; the first is the baseline."""
    sweeps: tuple[Sweep, ...] = (Sweep(),)
    """What is measured; each sweep multiplies into comparisons of all arms."""
    protocol: Annotated[Protocol, written_down] = field(default_factory=Adaptive)
    """How it is measured: the constants."""
    launch: Launch = Launch()
    """Where workers run, how they are started, and within which limits."""
    checks: Checks = Checks()
    """What is done besides measuring."""

    def __post_init__(self) -> None:
        if not self.arms:
            raise UsageError("give a framework; mbench list frameworks shows them")
        if not self.sweeps:
            raise UsageError("there is nothing to measure: an experiment needs a sweep")


def from_plain(body: object) -> Experiment:
    """The experiment that was stored as plain data; raises Malformed."""
    if not isinstance(body, dict):
        raise Malformed(f"an experiment should be a mapping, not {body!r:.60}")
    try:
        found: Experiment = read_fields(Experiment, body, where="experiment", lenient=True)
    except UsageError as error:  # parts that contradict each other
        raise Malformed(f"experiment: {error}") from None
    return found


def differences(before: Experiment, now: Experiment) -> list[str]:
    """The differences that affect results, by field: "seed was 2, is 3"."""
    was, found = fields_of(before), fields_of(now)
    if type(before.protocol) is type(now.protocol):
        for name in now.protocol.growing:
            del was[name], found[name]
    return [
        f"{name} was {was.get(name, 'not given')}, is {found.get(name, 'not given')}"
        for name in dict.fromkeys((*was, *found))
        if was.get(name) != found.get(name)
    ]


def fields_of(experiment: Experiment) -> dict[str, str]:
    """Everything that results may depend on, by field, in words."""
    found = {"frameworks": ", ".join(arm.shown for arm in experiment.arms)}
    for number, sweep in enumerate(experiment.sweeps, start=1):
        of = f"sweep {number}: " if len(experiment.sweeps) > 1 else ""
        for name, values in {
            **sweep.axes,
            **{n: (size,) for n, size in sweep.sizes.items()},
        }.items():
            found[of + name] = ", ".join(map(str, values))
        found[f"{of}operators"], found[f"{of}amp"] = str(sweep.operators), str(sweep.amp)
    launch = {n: value for n, value in vars(experiment.launch).items() if n not in FREE}
    constants = {"protocol" if n == "name" else n: v for n, v in vars(experiment.protocol).items()}
    others = {**constants, **launch, **vars(experiment.checks)}
    return {**found, **{name: str(value) for name, value in others.items()}}
