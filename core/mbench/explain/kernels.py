"""Lists the kernels that a step of each framework calls, in processes that are not timed."""

from __future__ import annotations

import shutil
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from mbench.contract import wire
from mbench.contract.adapter import Traced
from mbench.contract.device import HOST
from mbench.contract.forms import LONGER
from mbench.engine.isolation import scratch
from mbench.engine.launch import launch
from mbench.engine.outcome import CaseEnded
from mbench.explain.verbose import VARIABLES, Kernel, parse, versions
from mbench.files import opened
from mbench.machine.process_end import CUT
from mbench.measure.activity import PhaseBegan
from mbench.measure.environment_pool import EnvironmentPool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mbench.contract.adapter import Adapter
    from mbench.contract.case import Case
    from mbench.environments.environment import Environment
    from mbench.measure.activity import Listener
    from mbench.measure.preflight import Checked
    from mbench.results.encoding import Json
    from mbench.results.store import RunWriter
    from mbench.spec.planning import Comparison

__all__ = ["Evidence", "StepKernels", "kernels_of", "list_kernels", "observe", "platform_of"]


def platform_of(device: str, details: Mapping[str, str]) -> dict[str, str]:
    """The device's kind with the version of its platform, as the framework reports it."""
    return {device.upper(): details.get(device, "")}


def kernels_of(traced: Traced, device: str) -> list[Kernel]:
    """Kernels in the order of first calls; raises CaseEnded if the trace has no device calls."""
    if not traced.calls:
        raise CaseEnded(
            "unsupported",
            f"its profiler recorded {traced.other_events} events but no call on the {device} "
            "device: either it does not support that, or it lacks permission (see its log)",
        )
    return [
        Kernel(
            library=device.upper(), primitive=call.kind, implementation=call.name, propagation="",
            algorithm="", layouts=(), shape=call.launch, count=call.count,
            milliseconds=call.milliseconds, moved_bytes=call.moved_bytes,
        )
        for call in traced.calls
    ]  # fmt: skip


WARM_UP = 2
"""Steps in which a framework compiles, chooses kernels, and brings weights into their layouts."""
TRACE = ".trace"
"""Suffix of the folder beside the log in which a profiler leaves its trace."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Which kernels one step calls. This is not a timing: observing slows a step down."""

    libraries: dict[str, str] = field(default_factory=dict)
    """The libraries that logged anything since the process began, with their versions; with a
    profiler, the device's kind and the version of its platform."""
    profiled: bool
    """Whether the framework's profiler was used instead of library logs."""
    kernels: list[Kernel] = field(default_factory=list)
    """In the order of first calls."""
    stages: dict[str, list[Kernel]] = field(default_factory=dict)
    """Kernels by stage: what the step with that stage twice as long calls beyond this one."""
    unread: int = 0
    """Calls that were reported in an unknown format."""


def observe(
    adapter: Adapter, environment: Environment, case: Case, *, log: Path, timeout: float,
    forms: Mapping[str, Case] | None = None,
) -> Evidence:  # fmt: skip
    """The kernels that a step of `case` calls after its warm-up; raises CaseEnded.

    `forms` are cases of the model with a stage twice as long, by stage: what a step of one calls
    beyond that of `case` is what its stage calls.

    On the CPU, libraries log them; on a device, the framework's profiler records them. A new
    process is started on this machine, and ended. Its output goes to `log`, the profiler's trace
    into a folder beside it. No answer may take longer than `timeout` seconds.
    """
    if case.devices > 1:
        raise CaseEnded("unsupported", "kernels are observed in one process: give --scale 1x1")
    observed = from_libraries if case.device == HOST else from_profiler
    return observed(adapter, environment, case, log=log, timeout=timeout, forms=forms or {})


def from_libraries(
    adapter: Adapter, environment: Environment, case: Case, *, log: Path, timeout: float,
    forms: Mapping[str, Case],
) -> Evidence:  # fmt: skip
    verbose = replace(case, variables={**case.variables, **VARIABLES})
    start = size_of(log)
    worker, _ = launch(adapter, environment, verbose, log=log, timeout=timeout)
    steps: dict[str, slice] = {}
    with closing(worker):
        for stage, one in {"": case, **forms}.items():
            worker.prepare(one)
            worker.run(WARM_UP)
            begin = size_of(log) - start
            worker.run(1)
            steps[stage] = slice(begin, size_of(log) - start)
        with opened(log) as file:
            file.seek(start)
            whole = file.read()
    if CUT.encode() in whole:
        raise CaseEnded("failed", "its libraries wrote more than a log holds", log=log)
    parsed = {name: parse(whole[at].decode(errors="replace")) for name, at in steps.items()}
    own = parsed.pop("")
    return Evidence(
        libraries=versions(whole.decode(errors="replace")),
        profiled=False,
        kernels=own.kernels,
        stages={name: beyond(one.kernels, own.kernels) for name, one in parsed.items()},
        unread=own.unread,
    )


def from_profiler(
    adapter: Adapter, environment: Environment, case: Case, *, log: Path, timeout: float,
    forms: Mapping[str, Case],
) -> Evidence:  # fmt: skip
    folder = log.with_suffix(TRACE)
    shutil.rmtree(folder, ignore_errors=True)  # left by an earlier process
    worker, info = launch(adapter, environment, case, log=log, timeout=timeout)
    traced: dict[str, Traced] = {}
    with closing(worker):
        for stage, one in {"": case, **forms}.items():
            own = folder / stage
            own.mkdir(parents=True)
            worker.prepare(one)
            worker.run(WARM_UP)
            traced[stage] = worker.ask(wire.Profile(folder=str(own.absolute())), Traced)
    kernels = kernels_of(traced[""], case.device)
    return Evidence(
        libraries=platform_of(case.device, info.details),
        profiled=True,
        kernels=kernels,
        stages={name: beyond(kernels_of(traced[name], case.device), kernels) for name in forms},
        unread=traced[""].unread,
    )


def beyond(more: Sequence[Kernel], less: Sequence[Kernel]) -> list[Kernel]:
    """The calls that a longer step makes beyond those of a shorter one, with their time."""
    known = {kind_of(kernel): kernel.count for kernel in less}
    found = []
    for kernel in more:
        count = kernel.count - known.get(kind_of(kernel), 0)
        if count > 0:
            share = count / kernel.count
            moved = None if kernel.moved_bytes is None else share * kernel.moved_bytes
            time = share * kernel.milliseconds
            found.append(replace(kernel, count=count, milliseconds=time, moved_bytes=moved))
    return found


def kind_of(kernel: Kernel) -> Kernel:
    return replace(kernel, count=0, milliseconds=0.0, moved_bytes=None)


def size_of(log: Path) -> int:
    return log.stat().st_size if log.exists() else 0


@dataclass(frozen=True, kw_only=True)
class StepKernels:
    """The kernels of one framework."""

    label: str
    evidence: Evidence
    reason: str = ""
    """Why there is no evidence; empty if there is."""
    asked: bool = True
    """Whether the user asked for kernels; otherwise tables show only stages, if there are any."""

    def to_json(self) -> dict[str, Json]:
        return {"label": self.label, "reason": self.reason, **asdict(self.evidence)}

    @property
    def says_nothing(self) -> bool:
        return not self.asked and not self.evidence.kernels


def list_kernels(
    whole: Comparison, checked: Checked, store: RunWriter, listener: Listener,
    *, stages: Sequence[str] = (), asked: bool = True,
) -> list[StepKernels]:  # fmt: skip
    """The kernels of each case of a comparison, and of the given stages of its model; logs and
    traces are in the run's folder.
    """
    environments = EnvironmentPool(
        comparisons=[whole], accelerator=checked.device, provision=False, listener=listener
    )
    found = []
    with scratch():
        for entry in whole.entries:
            listener.hear(PhaseBegan(entry.label, "listing kernels"))
            log = store.log_path(f"{entry.number:03}-{entry.spec.name}-kernels.log")
            reason = ""
            try:
                evidence = observe(
                    entry.adapter, environments.environment_for(entry), entry.case, log=log,
                    timeout=checked.experiment.launch.timeout_seconds,
                    forms={
                        stage: replace(entry.case, model=f"{entry.case.model}{LONGER}{stage}")
                        for stage in stages
                    },
                )  # fmt: skip
            except CaseEnded as end:
                evidence, reason = Evidence(profiled=entry.case.device != HOST), str(end)
            found.append(
                StepKernels(label=entry.label, evidence=evidence, reason=reason, asked=asked)
            )
    return [one for one in found if not one.says_nothing]
