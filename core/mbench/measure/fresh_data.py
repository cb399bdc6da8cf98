"""Draws the data of timed steps when they are due, the same for all cases of a comparison."""

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

__all__ = ["AGAIN", "Draws", "Stream"]

MOST_BYTES = 2**30
"""Of all batches that lie ready for a block, as they are drawn,"""
MOST_SLOTS = 512
"""and how many there are at most: to place small ones takes a tenth of a millisecond each."""
SEEDS = 2**22
MOST_ASKED = 64
"""Results that are asked for after a block, about."""
AGAIN = 10**6
"""The epoch that begins at a moment which the parent draws, in all cases alike."""
ENDLESS = 2**40
BUILD = 10**5
"""Epochs, or blocks, of a preparation at most."""
PLACED = (2e6, 5.0)
"""Nanoseconds of a processor that placing a batch may take at the most, and of each of its bytes:
what takes longer is more than that."""
RECALLED = (2e5, 10.0)
"""Likewise of reading what one step left."""
LEAST, MOST = 0.5, 1.5
"""Times about as many steps, that a block has."""
FIRST, LATER = (4, BEGUN), (32, 64, 128, 256, 512, 1000)
"""Steps after which changes are looked at, the latter once in a process,"""
MOST_DRAWN = 48
"""and at most so many after those, at a moment that is drawn."""


@dataclass
class Draws:
    """Seeds by process, epoch and chunk, each drawn when it is first needed."""

    alone: bool = False
    """Whether there is one case only: then its processes have the same data, and are compared with
    each other.
    """
    known: dict[tuple[int, int, int], int] = field(default_factory=dict)
    slots: int = 0
    """Batches that lie ready; steps take them in turn."""
    most: int = 0
    """Steps of a block, at most."""
    least: int = 1
    """Last steps of which all cases keep the results, in blocks of any length."""
    random: SystemRandom = field(default_factory=SystemRandom)

    def expect(self, steps: Sequence[float], *, drawn: bool = True) -> None:
        """The cases' blocks will have about as many steps; `drawn`: as `steps` draws them. Only the
        first call counts.
        """
        if not self.most:
            longest, shortest = (MOST, LEAST) if drawn else (1.0, 1.0)
            self.most = max(1, math.ceil(longest * max(steps))) + 1
            self.least = max(1, math.floor(shortest * min(steps)))

    def plan(self, *, batch_bytes: int, held: int) -> None:
        """Settle once how many batches lie ready: as many as a block of `most` steps takes."""
        if not self.slots:
            fitting = min(MOST_SLOTS, max(held, MOST_BYTES // max(batch_bytes, 1)))
            self.slots = max(held, min(self.most, fitting))

    def steps(self, about: float) -> int:
        """The steps of a block, drawn between half and one and a half times `about`: no framework
        can learn where blocks end.
        """
        drawn = max(1, round(about * self.random.uniform(LEAST, MOST)))
        return min(drawn, self.most - 1) if self.most else drawn

    def seed(self, process: int, epoch: int, chunk: int) -> int:
        key = (0 if self.alone else process, epoch, chunk)
        if key not in self.known:
            self.known[key] = self.random.randrange(1, SEEDS)
        return self.known[key]

    def back(self, process: int, number: int, *, most: int) -> int:
        """How many steps before the last one of a block that one lies whose result is asked for:
        the same in all cases, and drawn when the first of them has made its block.
        """
        key = (0 if self.alone else process, -1, number)
        if key not in self.known:
            self.known[key] = self.random.randrange(SEEDS)
        return self.known[key] * max(most, 1) // SEEDS


class Stream:
    """The data of one process: by the number of steps since parameters were loaded, so that after
    equally many all processes of a set have learnt the same; where nothing is learnt, by how many
    steps are left of a block, so that blocks of any length end on the same.
    """

    def __init__(
        self, draws: Draws, process: int, worker: Worker, *, updates: bool, masks: bool = False,
        build: int = 0,
    ) -> None:  # fmt: skip
        """`masks`: every step draws some, so that losses scatter on the same data, too. `build` is
        the number of the case's preparation in the process, each of which has data of its own.
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
        """Of the data of all steps since parameters were loaded."""
        return str(self.draws.seed(self.process, self.epoch, 0))

    @property
    def chunk(self) -> int:
        """Positions that share a seed: all that a block may hold."""
        slots, most = self.draws.slots, self.draws.most
        if self.updates:
            return slots if most <= slots else ENDLESS
        return slots * -(-most // slots)

    @property
    def at_once(self) -> int:
        """Steps that can be provided for together. More would meet batches of theirs again, and
        which ones would depend on where they began.
        """
        return self.draws.slots if self.updates else ENDLESS

    def begin(self, held: int) -> None:
        """The process is warm, and has that many batches."""
        found = self.worker.ask(wire.Keep(), wire.Kept)
        self.kept, self.batch_bytes = found.results, found.batch_bytes
        self.draws.plan(batch_bytes=found.batch_bytes, held=held)
        if self.kept > 1:
            self.draws.least = max(1, min(self.draws.least, self.kept))

    def loaded(self, *, again: bool = False) -> list[int]:
        """Parameters were loaded: at the moment that was drawn, or when they had come far. Returns
        after how many steps changes are to be looked at.
        """
        self.epoch = AGAIN if again else self.epochs
        self.epochs += not again
        drawn = BEGUN + 1 + self.draws.seed(self.process, self.epoch, -1) % MOST_DRAWN
        return sorted({*FIRST, *(LATER if self.epoch == self.first else ()), drawn})

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
        """After a block of `steps` of `done` steps in all: how many before the last one those lie
        whose results are asked for. Of losses they are as many as a look has time for, untimed ones
        among them; of outputs, one that is drawn now. They are the same steps in all cases.
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
