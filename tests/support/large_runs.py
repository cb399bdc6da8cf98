"""Runs that are as large as a hostile file may be, written without measuring anything."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cases import GATES, make_case

from mbench.machine.system import describe_system
from mbench.results import events
from mbench.results.store import RunWriter
from mbench.spec.adaptive import Adaptive
from support.experiments import measured_by

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["write_large_run"]


def write_large_run(
    results: Path,
    *,
    comparisons: int = 1,
    cases: int = 1,
    processes: int = 0,
    rounds: int = 2,
    steps: int = 1,
) -> Path:
    """The folder of a run of `comparisons`, each of as many `cases`, processes and rounds."""
    store = RunWriter(
        results,
        experiment=measured_by(Adaptive()),
        system=describe_system({}),
        arguments=["mbench"],
    )
    for comparison in range(comparisons):
        store.append(events.Comparison(comparison=comparison, title=f"number {comparison}"))
        for one in range(cases):
            number = comparison * cases + one
            store.append(
                events.Case(
                    case=number, comparison=comparison, label=f"tiny#{one}", framework="tiny",
                    framework_title="Tiny", spec=f"tiny:A={one}", axes=make_case(),
                    samples="samples", flops_per_sample=1.0, standard=True, gates=GATES,
                )
            )  # fmt: skip
            for process in range(processes):
                _append_process(store, number, process, rounds=rounds, steps=steps)
    store.end("complete")
    return store.folder


def _append_process(store: RunWriter, case: int, process: int, *, rounds: int, steps: int) -> None:
    warm = events.Process(
        case=case, process=process, pid=1, prepare_seconds=0.1, trainable_parameters=1,
        differences=[], batches=8, first_loss=1.0, first_step_nanoseconds=1, warmup_blocks=[],
        warmup_reason="steady",
    )  # fmt: skip
    store.append(warm)
    for at in range(rounds):
        block = events.Block(
            case=case, process=process, round=at, each=False, steps=1, start=0,
            nanoseconds=[1_000_000 + 1000 * ((7 * case + 3 * process + at) % 10)],
        )  # fmt: skip
        store.append(block)
        if steps > 1:
            spread = [1_000_000 + 100 * (n % 100) for n in range(steps)]
            store.append(replace(block, each=True, steps=steps, nanoseconds=spread))
