"""Times what a step on batches from files is made of: the step alone, and the pipeline alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.engine.watching import watching
from mbench.results import events
from mbench.results.pixels import PIPELINE, STEP

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from mbench.machine.sampler import Sampler, Watch
    from mbench.measure.feeding import Feeder
    from mbench.measure.measurement import Runner
    from mbench.results.store import RunWriter

__all__ = ["time_parts"]

TIMES_AHEAD = 4
"""Batches in a block of the pipeline alone, as a multiple of those it prepares ahead. On a busy
machine, it may have prepared some of them between the lead-in and the start of the clock."""


def time_parts(
    runner: Runner, feeder: Feeder, store: RunWriter, sampler: Sampler, random: Random, *,
    seconds: float, round_number: int,
) -> None:  # fmt: skip
    """Time a block of each part, of about `seconds` each, in random order."""
    for part in random.sample((STEP, PIPELINE), 2):
        alone = part == PIPELINE
        each = feeder.alone_seconds if alone else feeder.resident_seconds
        steps = max(1, round(seconds / each))
        share = 1.0
        if alone:
            steps = max(steps, TIMES_AHEAD * feeder.depth)
        with watching(runner.worker, sampler) as watches:
            if alone:
                feeder.give(steps, alone=True)
            elapsed = runner.worker.run(steps)
            if alone:
                feeder.take()
                share = steps / feeder.batches
        if not alone:
            runner.evidence.made(steps)
        store.append(
            events.PartBlock(
                case=runner.entry.number,
                process=feeder.process,
                round=round_number,
                part=part,
                steps=steps,
                nanoseconds=sum(elapsed.nanoseconds),
                worker_seconds=spent_in(watches, share=share),
            )
        )


def spent_in(watches: Sequence[Watch], *, share: float) -> float | None:
    """CPU seconds a worker used for a block. `share` is the fraction of the batches prepared while
    it was watched that are in the block: counting from the first batch to the last makes it
    irrelevant which ones were ready when. None if nothing was sampled.
    """
    ends = [(one.samples[0], one.samples[-1]) for one in watches if len(one.samples) > 1]
    if not ends:
        return None
    return share * sum(last.worker_seconds - first.worker_seconds for first, last in ends)
