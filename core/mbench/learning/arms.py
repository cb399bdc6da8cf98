"""The frameworks of a training run, each with the case that its worker runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.axes import AXES
from mbench.contract.feed import RESIDENT
from mbench.errors import UsageError, about
from mbench.spec.arm import labels_of, named, settings
from mbench.spec.planning import (
    BEST,
    Entry,
    case_of,
    find_adapter,
    supports,
    with_mixed,
)

if TYPE_CHECKING:
    from pathlib import Path

    from mbench.learning.task import Task
    from mbench.plugins.manager import Plugins
    from mbench.spec.experiment import Experiment

__all__ = ["entries_of"]

ASKED = tuple(axis for axis in AXES if axis.name in ("precision", "compiler", "tier"))
"""The axes of a training run that its task does not set."""


def entries_of(
    experiment: Experiment, task: Task, plugins: Plugins, *, files: Path | None = None
) -> tuple[Entry, ...]:
    """One entry for each arm; the first is the baseline. Device and threads must be settled.

    `files`: what the input pipeline reads in a task on photographs. Raises UsageError.
    """
    arms, launch, (sweep,) = experiment.arms, experiment.launch, experiment.sweeps
    with about("--frameworks"):
        adapters = [find_adapter(arm.spec, plugins, device=launch.device) for arm in arms]
    if sweep.amp is not None:
        sweep = with_mixed(sweep, adapters, device=launch.device)
    wanted = {axis.name: [str(value) for value in sweep.values(axis)] for axis in ASKED}
    for name, (value, *more) in wanted.items():
        if more or value in (BEST, "all"):
            raise UsageError(f"train takes exactly one {name}, given by name", option=f"--{name}")
    others = plugins.adapters.unique().values()
    specs = [named(arm.spec, one.name) for arm, one in zip(arms, adapters, strict=True)]
    labels = labels_of(arms, specs)
    found = []
    for number, (arm, spec, adapter, label) in enumerate(
        zip(arms, specs, adapters, labels, strict=True)
    ):
        with about("--frameworks"):
            own = settings(arm, adapter, wanted=wanted, others=others, sizes=())
        asked = {
            "model": task.model, "mode": "train", "workload": task.workload, "scenario": "",
            "batch_size": task.lesson.batch_size, "device": launch.device,
            "threads": launch.threads, "dropout": False,
            "data": str(files.absolute()) if files else RESIDENT,
            **{name: value for name, (value,) in wanted.items()}, **own,
        }  # fmt: skip
        case = case_of(asked, adapter)
        found.append(
            Entry(
                number=number, label=label, spec=spec, adapter=adapter,
                case=case, support=supports(adapter, case), own_compiler="compiler" not in own,
            )
        )  # fmt: skip
    return tuple(found)
