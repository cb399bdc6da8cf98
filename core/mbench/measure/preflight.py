"""Checks an experiment once, before anything is downloaded, proven or measured."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

from mbench.contract.adapter import Support
from mbench.contract.axes import STEADY
from mbench.contract.device import HOST
from mbench.engine.machines import machines
from mbench.engine.watching import take_absences
from mbench.errors import UsageError, about
from mbench.machine.cores import default_threads
from mbench.machine.devices import kind, usual
from mbench.spec.experiment import AUTO
from mbench.spec.footprint import least
from mbench.spec.planning import plan, scale_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mbench.contract.case import Case
    from mbench.contract.rank import Scale
    from mbench.engine.launchers import Launchers
    from mbench.machine.records import Machine
    from mbench.plugins.launcher import Launcher
    from mbench.spec.adaptive import Adaptive
    from mbench.spec.experiment import Experiment
    from mbench.spec.planning import Comparison

__all__ = ["Checked", "check_planned", "preflight", "prepare", "twins"]


@dataclass(frozen=True, kw_only=True)
class Checked:
    """An experiment that can be carried out: planned, on machines that have what it needs."""

    experiment: Experiment
    """The experiment, with its device and threads settled."""
    comparisons: tuple[Comparison, ...]
    launcher: Launcher
    """Starts the workers."""
    warnings: tuple[str, ...] = ()
    """Warnings, one line each."""
    further: Mapping[int, Adaptive] = field(default_factory=dict)
    """The protocol of comparisons that get more sets in a resumed run, by number."""

    @property
    def device(self) -> str:
        return self.experiment.launch.device

    @property
    def cases(self) -> list[Case]:
        return [entry.case for comparison in self.comparisons for entry in comparison.entries]


def preflight(experiment: Experiment, launchers: Launchers, *, continued: bool = False) -> Checked:
    """Plan and check an experiment; raises UsageError for what does not exist or cannot be measured
    here.

    A `continued` run has measured a part already, so its budget need not cover all processes.
    """
    experiment = settle(experiment, launchers)
    comparisons = tuple(plan(experiment, launchers.plugins))
    return check_planned(experiment, comparisons, launchers, continued=continued)


def check_planned(
    experiment: Experiment, comparisons: tuple[Comparison, ...], launchers: Launchers, *,
    continued: bool = False,
) -> Checked:  # fmt: skip
    """Check comparisons that have been planned already; raises UsageError as `preflight` does."""
    launched = launch(experiment, comparisons, launchers)
    launched = replace(launched, comparisons=fitting(launched))
    assumed = (
        f"--dry-run starts nothing: device, threads and limits are those of this machine, since "
        f"the machines of {launchers.unasked} were not queried"
    )
    warnings = [*check(launched, continued=continued), *([assumed] if launchers.unasked else [])]
    return replace(launched, warnings=tuple(warnings))


def prepare(experiment: Experiment, launchers: Launchers) -> Checked:
    """Check an experiment that is only proven, without checking what measuring needs."""
    experiment = settle(experiment, launchers)
    return launch(experiment, tuple(plan(experiment, launchers.plugins)), launchers)


def launch(
    experiment: Experiment, comparisons: tuple[Comparison, ...], launchers: Launchers
) -> Checked:
    """The experiment with a launcher for its comparisons, on machines that have the device."""
    take_absences()  # discard those from before this command
    scales = [entry.case.parsed_scale for one in comparisons for entry in one.entries]
    nodes = max(scale.nodes for scale in scales)
    devices = max(scale.devices_per_node for scale in scales)
    device = experiment.launch.device
    accelerators = 0 if device == HOST else devices
    launcher = launchers.open(experiment.launch, nodes=nodes, accelerators=accelerators)
    check_device(device, machines(launcher))
    return Checked(experiment=experiment, comparisons=comparisons, launcher=launcher)


def settle(experiment: Experiment, launchers: Launchers) -> Experiment:
    """Fill in the device and threads of the machines that will compute if they are not given.

    A device has the same number of threads at each scale.
    """
    launch = experiment.launch
    if launch.device != AUTO and launch.threads is not None:
        return experiment
    scales = list(scales_of(experiment))
    there = launchers.elsewhere(launch, scales)
    device = usual(there) if launch.device == AUTO else launch.device
    most = max((scale.devices_per_node for scale in scales), default=1)
    fit = min((one.system.default_threads for one in there), default=0) or default_threads().count
    threads = launch.threads or max(1, fit // most)
    return replace(experiment, launch=replace(launch, device=device, threads=threads))


def scales_of(experiment: Experiment) -> Iterator[Scale]:
    with about("--scale"):
        for sweep in experiment.sweeps:
            for word in sweep.axes.get("scale", ()):
                yield scale_of(str(word))


def check(checked: Checked, *, continued: bool = False) -> list[str]:
    """Warnings, one line each; raises UsageError for what is impossible.

    The machines on which workers will run are asked what they have.
    """
    there = machines(checked.launcher)
    protocol = checked.experiment.protocol
    check_steadiness(checked, there)
    most = max(len(comparison.entries) for comparison in checked.comparisons)
    check_sharing(checked.device, most, there, side_by_side=protocol.side_by_side)
    doubt = "" if continued else protocol.doubt(most)
    return [*filter(None, (doubt, crowd(checked, there)))]


def check_device(device: str, there: Mapping[str, Machine]) -> None:
    """Raises UsageError if a machine does not have the device."""
    for host, machine in there.items():
        if device != HOST and machine.device(device) is None:
            asked = kind(device)
            raise UsageError(
                f"--device {device}: no {asked.title} is visible on {host or 'this machine'}; "
                f"{asked.hint}, or give --device {HOST}",
                option="--device",
            )


def fitting(checked: Checked) -> tuple[Comparison, ...]:
    """The comparisons, with cases that certainly do not fit into memory marked as unsupported;
    raises UsageError if that is all of them.
    """
    there, reasons = machines(checked.launcher), []
    found = []
    for comparison in checked.comparisons:
        entries = []
        for entry in comparison.entries:
            reason = too_large(entry.case, there) if entry.support.supported else ""
            reasons.append(reason)
            entries.append(replace(entry, support=Support.no(reason)) if reason else entry)
        found.append(replace(comparison, entries=tuple(entries)))
    if reasons and all(reasons):
        raise UsageError(reasons[0], option="--batch-size")
    return tuple(found)


def too_large(case: Case, there: Mapping[str, Machine]) -> str:
    """Why a case does not fit into the memory of one of its machines; empty if it may."""
    footprint = least(case)
    if footprint is None:
        return ""
    on_host = case.device == HOST
    for host, machine in there.items():
        size = machine.memory_bytes(case.device)
        if size is None:
            continue
        where = host or "this machine"
        reason = footprint.refusal(
            case, bytes_there=size,
            where=where if on_host else f"a device on {where}",
            processes=case.parsed_scale.devices_per_node if on_host else 1,
        )  # fmt: skip
        if reason:
            return reason
    return ""


def check_sharing(
    device: str, workers: int, there: Mapping[str, Machine], *, side_by_side: bool
) -> None:
    """Raises UsageError if workers need the device at the same time, but it admits only one."""
    for host, machine in there.items():
        found = machine.device(device)
        if found is not None and found.for_one and side_by_side and workers > 1:
            on = f" on {host}" if host else ""
            raise UsageError(
                f"--device {device}: {workers} frameworks would share the device, but its compute "
                f"mode{on}, {found.mode}, forbids that; {kind(device).sharing} allows it",
                option="--device",
            )


def check_steadiness(checked: Checked, there: Mapping[str, Machine]) -> None:
    """Raises UsageError if workers are to be steady and a machine does not allow it."""
    if not any(case.steadiness == STEADY for case in checked.cases):
        return
    for host, machine in there.items():
        if machine.unsteady:
            on = f"{host}: " if host else ""
            raise UsageError(f"--steady: {on}{machine.unsteady}", option="--steady")


def crowd(checked: Checked, there: Mapping[str, Machine]) -> str:
    """A warning if there are more threads than can run at once; otherwise empty."""
    each, devices = max(
        ((case.threads, case.parsed_scale.devices_per_node) for case in checked.cases),
        key=lambda two: prod(two),
    )
    host, most = min(((host, one.threads) for host, one in there.items()), key=lambda two: two[1])
    if each * devices <= most:
        return ""
    fit = max(1, most // devices)
    return (
        f"{each * devices} threads wait for each other on {host or 'a machine'}, which runs {most} "
        f"at once; give --threads {fit}" + " or fewer" * (fit > 1)
    )


def twins(checked: Checked) -> list[str]:
    """A warning for each pair of identical entries, whose difference is noise."""
    found: dict[str, None] = {}
    for comparison in checked.comparisons:
        for one, other in combinations(comparison.entries, 2):
            if (one.spec, one.case) == (other.spec, other.case):
                found[f"{one.label} and {other.label} are the same, so they show this machine's "
                      "noise; mbench calibrate measures that and stores it"] = None  # fmt: skip
    return list(found)
