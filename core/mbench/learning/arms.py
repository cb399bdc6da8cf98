"""The frameworks of a training run, each with the case that its worker is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.device import HOST
from mbench.contract.feed import RESIDENT
from mbench.engine import local
from mbench.engine.machines import machines
from mbench.errors import about
from mbench.machine.cores import default_threads
from mbench.measure.preflight import check_device
from mbench.spec.arm import Arm, named, settings
from mbench.spec.planning import Entry, case_of, find_adapter, supports, tell_apart

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mbench.learning.task import Task
    from mbench.plugins.manager import Plugins

__all__ = ["entries_of"]

DEFAULT = "default"


def entries_of(
    frameworks: Sequence[str],
    task: Task,
    plugins: Plugins,
    *,
    precision: str = "fp32",
    device: str = HOST,
    threads: int | None = None,
    compiler: str = DEFAULT,
    tier: str = DEFAULT,
    files: Path | None = None,
) -> tuple[Entry, ...]:
    """One for each framework; the first is the baseline. `files` are those that its input pipeline
    reads, of a task on photographs. Raises UsageError.
    """
    check_device(device, machines(local.start))
    arms = [Arm(text) for text in frameworks]
    with about("--frameworks"):
        adapters = [find_adapter(arm.spec, plugins, device=device) for arm in arms]
    others = plugins.adapters.unique().values()
    labels = tell_apart([arm.label(one.name) for arm, one in zip(arms, adapters, strict=True)])
    found = []
    for number, (arm, adapter, label) in enumerate(zip(arms, adapters, labels, strict=True)):
        with about("--frameworks"):
            own = settings(arm, adapter, wanted={}, others=others, sizes=())
        asked = {
            "model": task.model, "mode": "train", "workload": task.workload, "scenario": "",
            "batch_size": task.lesson.batch_size, "precision": precision, "device": device,
            "threads": threads or default_threads().count, "compiler": compiler, "tier": tier,
            "dropout": False, "data": str(files.absolute()) if files else RESIDENT, **own,
        }  # fmt: skip
        case = case_of(asked, adapter)
        found.append(
            Entry(
                number=number, label=label, spec=named(arm.spec, adapter.name), adapter=adapter,
                case=case, support=supports(adapter, case), own_compiler="compiler" not in own,
            )
        )  # fmt: skip
    return tuple(found)
