"""Runs of made-up values, for benchmarks that read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.case import Case
from mbench.machine.system import System
from mbench.results import encoding, events
from mbench.results.evidence import Gates
from mbench.results.folder import EVENTS_FILE, SCHEMA
from mbench.results.seal import Seal
from mbench.spec.adaptive import Adaptive
from mbench.spec.arm import Arm
from mbench.spec.experiment import Experiment

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["PROCESSES", "begun", "block", "case", "process", "write"]

PROCESSES = 5
GATES = Gates(
    answers=1e-5, means=None, drift=0.1, norm=0.02, direction=0.1, statistics=1e-3, growth=0.2
)  # fmt: skip
SYSTEM = System(
    hostname="made-up", os="made-up", python="3.11", cpu="made-up", physical_cores=2,
    logical_cores=2, usable_cores=2, default_threads=2,
    threads_because="all 2 cores of the machine", governor=None, current_mhz=None,
    transparent_huge_pages=None, memory_bytes=2**34, load_average=[0.0, 0.0, 0.0], gpus=[],
    variables={},
)  # fmt: skip


def begun(name: str, *, second: int = 0) -> events.Run:
    """The header of a run that began at that second of the year."""
    return events.Run(
        schema=SCHEMA, id=name, mbench="0.1.0", arguments=["mbench"],
        started=f"2026-01-01T00:00:{second:02}+00:00", experiment=Experiment(
            arms=(Arm("tiny"),), protocol=Adaptive(processes=PROCESSES)
        ),
        system=SYSTEM,
    )  # fmt: skip


def case(
    number: int, label: str, *, comparison: int = 0, version: str = "1.0", **axes: str | int
) -> list[events.Event]:
    """A case of a model that does not exist."""
    known = {
        "model": "made-up", "workload": "made:UP", "mode": "train", "batch_size": 8,
        "precision": "fp32", "compiler": "eager", "device": "cpu", "threads": 1,
    }  # fmt: skip
    return [
        events.Case(
            case=number, comparison=comparison, label=label, framework=label,
            framework_title=label.title(), spec=label, axes=Case(**{**known, **axes}),
            samples="images", flops_per_sample=1e9, standard=True, gates=GATES,
        ),
        events.Framework(
            case=number, version=version, devices=["cpu"], device_name="CPU", threads=1,
            details={"build": "made up"},
        ),
    ]  # fmt: skip


def process(case: int, number: int) -> events.Process:
    return events.Process(
        case=case, process=number, pid=1, prepare_seconds=1.0, trainable_parameters=1,
        differences=["made up"], batches=8,
        first_loss=None, first_step_nanoseconds=10**9, warmup_blocks=[],
        warmup_reason="steady",
    )  # fmt: skip


def block(case: int, process: int, round_number: int, nanoseconds: list[int], *, each: bool = False,
          ) -> events.Block:  # fmt: skip
    return events.Block(
        case=case, process=process, round=round_number, each=each,
        steps=len(nanoseconds) if each else 10, start=0, nanoseconds=nanoseconds,
    )  # fmt: skip


def write(folder: Path, made: Iterable[events.Event]) -> Path:
    """Write a run into `folder`; returns the run's own folder."""
    header, *rest = made
    assert isinstance(header, events.Run)
    end = events.End(status="complete", finished="2026-01-01T01:00:00+00:00")
    run = folder / header.id
    run.mkdir()
    text = "".join(encoding.encode(event) + "\n" for event in (header, *rest))
    end = Seal(text.encode()).sealed(end)
    (run / EVENTS_FILE).write_text(f"{text}{encoding.encode(end)}\n")
    return run
