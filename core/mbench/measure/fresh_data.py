"""Draws the data of timed steps when it is needed, the same for all cases of a comparison."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from random import SystemRandom
from typing import TYPE_CHECKING
from zlib import crc32

from mbench.contract import wire
from mbench.results.changes import BEGUN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.plugins.launcher import Worker

__all__ = ["Draws", "Stream"]

MOST_BYTES = 2**30
"""Total size of the batches kept ready for a block, as they are drawn."""
MOST_SLOTS = 512
"""The most batches kept ready: placing a small one takes a tenth of a millisecond."""
SEEDS = 2**22
MOST_ASKED = 64
"""About how many results are asked for after a block."""
ENDLESS = 2**40
BUILD = 10**5
"""The most epochs, or blocks, per preparation of a case."""
PLACED = (2e6, 5.0)
"""The most CPU nanoseconds that placing a batch may take, per batch and per byte: anything slower
does more than placing it."""
RECALLED = (2e5, 10.0)
"""The most CPU nanoseconds that reading the result of a step may take, per result and per byte."""
LEAST, MOST = 0.5, 1.5
"""The range of a block's number of steps, as multiples of the intended number."""
FIRST, LATER = (4, BEGUN), (32, 64, 128, 256, 512, 1000)
"""Steps after which changes are looked at; those in LATER only once in a process."""
MOST_DRAWN = 48
"""One more look follows those in FIRST, at most this many steps later. How many is drawn at
random."""


@dataclass
class Draws:
    """Seeds by process, epoch and chunk, each drawn when it is first needed."""

    alone: bool = False
    """Whether there is only one case: its processes then have the same data, and are compared with
    each other.
    """
    known: dict[tuple[int, int, int], int] = field(default_factory=dict)
    slots: int = 0
    """How many batches are kept ready; steps take them in turn."""
    most: int = 0
    """The most steps a block can have."""
    least: int = 1
    """How many of its last steps every case keeps the results of, in blocks of any length."""
    random: SystemRandom = field(default_factory=SystemRandom)

    def expect(self, steps: Sequence[float], *, drawn: bool = True) -> None:
        """The cases' blocks will have about this many steps each; with `drawn`, the method `steps`
        draws the exact numbers. Only the first call counts.
        """
        if not self.most:
            longest, shortest = (MOST, LEAST) if drawn else (1.0, 1.0)
            self.most = max(1, math.ceil(longest * max(steps))) + 1
            self.least = max(1, math.floor(shortest * min(steps)))

    def plan(self, *, batch_bytes: int, held: int) -> None:
        """Decide, once, how many batches to keep ready: enough for a block of `most` steps."""
        if not self.slots:
            fitting = min(MOST_SLOTS, max(held, MOST_BYTES // max(batch_bytes, 1)))
            self.slots = max(held, min(self.most, fitting))

    def steps(self, about: float) -> int:
        """The steps of a block, drawn between half and one and a half times `about`, so that no
        framework can learn where blocks end.
        """
        drawn = max(1, round(about * self.random.uniform(LEAST, MOST)))
        return min(drawn, self.most - 1) if self.most else drawn

    def seed(self, process: int, epoch: int, chunk: int) -> int:
        key = (0 if self.alone else process, epoch, chunk)
        if key not in self.known:
            self.known[key] = self.random.randrange(1, SEEDS)
        return self.known[key]

    def back(self, process: int, number: int, *, most: int) -> int:
        """How many steps before a block's last one to ask for a result, too: fewer than `most`. It
        is the same in all cases, and drawn once the first case has run its block.
        """
        key = (0 if self.alone else process, -1, number)
        if key not in self.known:
            self.known[key] = self.random.randrange(SEEDS)
        return self.known[key] * max(most, 1) // SEEDS


class Stream:
    """The data of one process. It depends on the number of steps since parameters were loaded, so
    that after the same number all processes of a set have learnt the same. Where nothing is learnt,
    it depends on the steps left in a block, so that blocks of any length end on the same data.
    """

    def __init__(
        self, draws: Draws, process: int, worker: Worker, *, updates: bool, masks: bool = False,
        build: int = 0,
    ) -> None:  # fmt: skip
        """With `masks`, every step draws random masks, so that losses vary even on the same data.
        `build` numbers the preparations of the case in the process; each has its own data.
        """
        self.draws = draws
        self.process = process
        self.worker = worker
        self.updates = updates
        self.masks = masks
        self.epoch = -1
        self.epochs = self.first = self.blocks = build * BUILD
        self.kept = 1
        self.batch_bytes = 0

    @property
    def name(self) -> str:
        """Identifies the data of all steps since parameters were loaded."""
        return str(self.draws.seed(self.process, self.epoch, 0))

    @property
    def chunk(self) -> int:
        """How many positions share a seed: as many as a block may hold."""
        slots, most = self.draws.slots, self.draws.most
        if self.updates:
            return slots if most <= slots else ENDLESS
        return slots * -(-most // slots)

    @property
    def at_once(self) -> int:
        """How many steps can get data at once. More would reuse some of their batches, and which
        ones would depend on where they began.
        """
        return self.draws.slots if self.updates else ENDLESS

    def begin(self, held: int) -> None:
        """The process is warm, and has `held` batches."""
        found = self.worker.ask(wire.Keep(), wire.Kept)
        self.kept, self.batch_bytes = found.results, found.batch_bytes
        self.draws.plan(batch_bytes=found.batch_bytes, held=held)
        if self.kept > 1:
            self.draws.least = max(1, min(self.draws.least, self.kept))

    def loaded(self) -> list[int]:
        """Parameters were loaded. Returns the numbers of steps after which changes are to be looked
        at.
        """
        self.epoch = self.epochs
        self.epochs += 1
        drawn = BEGUN + 1 + self.draws.seed(self.process, self.epoch, -1) % MOST_DRAWN
        return sorted({*FIRST, *(LATER if self.epoch == self.first else ()), drawn})

    def late(self, steps: int) -> int:
        """A number of steps drawn from the second half of `steps`, the same in all cases: whatever
        a process does differently in that half shows in what it has learnt by then.
        """
        first = max(BEGUN + 1, steps // 2)
        return first + self.draws.seed(self.process, self.epoch, -3) % max(1, steps - first + 1)

    def provide(self, done: int, count: int) -> None:
        """Data for `count` steps, `done` steps after parameters were loaded."""
        self.send(self.epoch, done, count)

    def provide_block(self, count: int) -> None:
        """Data for a block of steps that learn nothing."""
        self.send(0, (self.blocks + 1) * self.chunk - count, count)

    def send(self, epoch: int, first: int, count: int) -> None:
        last = first + min(count, self.draws.slots) - 1
        chunks = range(first // self.chunk, last // self.chunk + 1)
        seeds = [self.draws.seed(self.process, epoch, chunk) for chunk in chunks]
        message = wire.Renew(
            first=first, count=count, slots=self.draws.slots, chunk=self.chunk, seeds=seeds,
            twice=self.masks,
        )  # fmt: skip
        self.worker.ask(message, wire.Renewed)

    def most_placing(self, count: int) -> int:
        """Nanoseconds that placing the data of `count` steps may take."""
        each, per_byte = PLACED
        return round(min(count, self.draws.slots) * (each + per_byte * self.batch_bytes))

    def asked(self, done: int, steps: int) -> list[int]:
        """The steps whose results are asked for after a block of `steps`, and `done` steps in all,
        counted back from the last one. For losses, there are as many as a look has time for,
        including untimed ones; for outputs, there is one, drawn now. They are the same in all
        cases.
        """
        if not self.updates:
            back = self.draws.back(self.process, self.blocks, most=self.draws.least)
            return [back] if 0 < back < min(steps, self.kept) else []
        kept = min(done, self.kept, self.draws.slots)
        every = -(-self.draws.most // MOST_ASKED)
        secret = self.draws.seed(self.process, self.epoch, -2)
        return [
            back for back in range(1, kept) if not crc32(b"%d/%d" % (secret, done - back)) % every
        ]
