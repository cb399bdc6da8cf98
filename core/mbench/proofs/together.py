"""The pass of several processes that train one model together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mbench.contract import wire
from mbench.proofs import judge
from mbench.proofs.exchange import (
    CHECK,
    judge_apart,
    judge_clipped,
    judge_together,
    ways_apart,
)
from mbench.proofs.tolerances import EXACT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.contract.case import Case
    from mbench.plugins.launcher import Worker
    from mbench.proofs.observer import Observer

__all__ = ["exchange_pass"]


def exchange_pass(
    observer: Observer, case: Case, rate: float, *, gate: float
) -> Iterator[judge.CheckResult]:
    """One step of bare descent, by ranks with the same batch, then by each with its own."""
    ways = ways_apart(case.devices)
    case = replace(case, plain_sgd=rate, parts=ways[0].parts)
    unclipped = replace(case, clip=False)
    observer.report(f"proving the exchange of {case.devices} processes in {case.precision}")
    stem = f"{observer.log.stem}-together-{case.precision}"
    with observer.worker(case, observer.log.with_stem(stem)) as worker:
        worker.prepare(case, load=False)
        together = seen_by_all(worker)
        yield judge_together(together, observer.workload, gate=gate)
        if gate == EXACT:
            yield judge.judge_trajectory(
                together[0], observer.reference.plain, observer.workload, check=CHECK
            )
        clips = case.resolve().optimizer.clip_norm is not None
        if clips:
            clipped = seen_by_all(worker, apart=1)
            worker.prepare(unclipped, load=False)
        single = [seen_by_all(worker, batch=part)[0] for part in range(ways[0].parts)]
        for way in ways:
            own = seen_by_all(worker, apart=way.stride)
            yield judge_together(own, observer.workload, gate=gate)
            yield from judge_apart(own, single, observer.workload, way=way, gate=gate)
            if clips and way is ways[0]:
                yield judge_clipped(clipped, own, observer.workload, rate=rate, gate=gate)


def seen_by_all(worker: Worker, *, batch: int = 0, apart: int = 0) -> list[wire.Observation]:
    """What one step leaves on each rank."""
    message = wire.Observe(seed=0, steps=1, training=True, batch=batch, apart=apart)
    return worker.ask_all(message, wire.Observation)
