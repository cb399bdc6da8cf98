"""Feeds input pipelines: draws which images blocks read and how they are cropped, and checks what
the pipelines return.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from random import SystemRandom
from typing import TYPE_CHECKING

import numpy as np

from mbench.contract import wire
from mbench.contract.feed import COLD, RESIDENT, SHARES, feed_of
from mbench.engine.outcome import CaseEnded
from mbench.results import events
from mbench.results.pixels import CONTENTS_OF, SIZES_OF
from mbench.scenarios.find import scenario_of
from mbench.spec.data import folder_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.case import Case
    from mbench.measure.evidence_collector import EvidenceCollector
    from mbench.plugins.launcher import Worker
    from mbench.spec.planning import Entry

__all__ = ["Feeder", "Samples", "data_set", "reads_files", "samples_of"]

AREA, RATIO = (0.08, 1.0), (3 / 4, 4 / 3)
"""Ranges of area, as a share of the image, and of aspect ratio of training crop boxes: Szegedy et
al. 2014 (arXiv:1409.4842)."""
CONTENTS = 2**40
"""Content numbers from here on belong to batches from files; no number is used twice."""
APART = 0.05
"""Largest distance between two frameworks' pixels of the same batch, relative to their norm:
sketches of images that differ only by rounding are within a hundredth."""
DIGESTED_FILES = 20_000
"""Larger data sets are identified by file names and sizes: reading all files would take long."""

Table = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Ids (N,), boxes (N, 4) and flips (N,) of samples."""


def reads_files(case: Case) -> bool:
    return feed_of(case.data) != RESIDENT


def data_set(number: int, case: Case) -> events.DataSet:
    """What is known about the files of a comparison."""
    folder = folder_of(case.data)
    whole = len(folder) <= DIGESTED_FILES
    try:
        digest = folder.digest(contents=whole)
    except OSError as error:
        raise CaseEnded("failed", f"{error.filename}: {error.strerror}") from None
    return events.DataSet(
        comparison=number, folder=folder.root, files=len(folder),
        classes=len(folder.classes), names=folder.names_digest(), digest=digest,
        digest_of=CONTENTS_OF if whole else SIZES_OF,
    )  # fmt: skip


@dataclass
class Samples:
    """Which images are read, how they are cropped and whether they are mirrored. An epoch has each
    file once, in its own order and with its own crops. All frameworks of a comparison get the same
    samples.
    """

    files: int
    trains: bool
    """Whether crops are drawn at random; otherwise they are central."""
    secret: int = field(default_factory=lambda: SystemRandom().getrandbits(62))
    sketches: dict[tuple[int, int, str], tuple[str, Sequence[float]]] = field(default_factory=dict)
    """By process, round and storage: the framework that first read the batch that the round ends
    on, and a sketch of its pixels.
    """
    _epochs: dict[tuple[int, int], Table] = field(default_factory=dict)

    def epoch(self, process: int, number: int) -> Table:
        key = process, number
        if key not in self._epochs:
            if len(self._epochs) > 3:
                self._epochs.clear()
            order = self.generator(*key, 0).permutation(self.files)
            self._epochs[key] = (order, *self.crops(self.files, *key, 1))
        return self._epochs[key]

    def generator(self, *key: int) -> np.random.Generator:
        return np.random.default_rng((self.secret, *key))

    def crops(self, count: int, *key: int) -> tuple[np.ndarray, np.ndarray]:
        """Boxes (count, 4) and flips (count,); zeros for central crops."""
        if not self.trains:
            return np.zeros((count, 4), dtype=np.int64), np.zeros(count, dtype=bool)
        random = self.generator(*key)
        area = random.uniform(*AREA, count)
        low, high = map(math.log, RATIO)
        ratio = np.exp(random.uniform(low, high, count))
        sides = np.stack([np.sqrt(area / ratio), np.sqrt(area * ratio)], axis=1).clip(0.01, 1.0)
        sizes = (sides * SHARES).astype(np.int64)
        places = (random.uniform(0, 1, (count, 2)) * (SHARES - sizes)).astype(np.int64)
        return np.concatenate([places, sizes], axis=1), random.integers(0, 2, count).astype(bool)

    def at(self, process: int, first: int, count: int) -> Table:
        """`count` samples starting at position `first`, over as many epochs as that takes."""
        parts: list[Table] = []
        while count:
            number, start = divmod(first, self.files)
            ids, boxes, flips = (one[start : start + count] for one in self.epoch(process, number))
            parts.append((ids, boxes, flips))
            first, count = first + len(ids), count - len(ids)
        ids, boxes, flips = (np.concatenate(column) for column in zip(*parts, strict=True))
        return ids, boxes, flips

    def last(self, process: int, round_number: int, count: int) -> Table:
        """The samples of the batch on which all frameworks end a round."""
        key = process, round_number
        ids = self.generator(*key, 2).integers(0, self.files, count)
        return (ids, *self.crops(count, *key, 3))


def samples_of(case: Case) -> Samples:
    """The samples of the comparison that has `case`."""
    scenario = scenario_of(case)
    trains = scenario.training or scenario.needs_files
    return Samples(files=len(folder_of(case.data)), trains=trains)


class Feeder:
    """Feeds one process's input pipeline: gives it samples for a block, and checks the result."""

    def __init__(
        self, samples: Samples, entry: Entry, worker: Worker, evidence: EvidenceCollector, *,
        process: int, depth: int, resident_seconds: float,
    ) -> None:  # fmt: skip
        """`resident_seconds` is the time of a step on a resident batch."""
        self.samples, self.case, self.worker = samples, entry.case, worker
        self.evidence = evidence
        self.label, self.process, self.depth = entry.label, process, depth
        self.resident_seconds = resident_seconds
        self.only = scenario_of(entry.case).needs_files
        """Whether steps do nothing but take batches."""
        self.alone_seconds = 0.0
        """Time the pipeline alone takes for a batch."""
        self.position = 0
        """How many samples the pipeline has been given."""
        self.blocks = 0
        self.given: list[int] = []
        self.round: int | None = None

    @property
    def lead(self) -> int:
        """Untimed steps after which the pace is steady: batches prepared earlier are used up."""
        return self.depth + 1

    @property
    def batches(self) -> int:
        """How many batches the pipeline was given last."""
        return len(self.given) // self.case.batch_size

    def give(self, steps: int, *, alone: bool = False, round_number: int | None = None) -> None:
        """Start the pipeline and run the untimed steps. The `steps` to be timed follow; as many
        batches are ready when they end as when they begin.
        """
        size = self.case.batch_size
        batches = self.lead + steps + self.depth
        ids, boxes, flips = self.samples.at(self.process, self.position, batches * size)
        if round_number is not None:
            end = (self.lead + steps) * size
            here = slice(end - size, end)
            ids, boxes, flips = ids.copy(), boxes.copy(), flips.copy()
            ids[here], boxes[here], flips[here] = self.samples.last(
                self.process, round_number, size
            )
        self.position += batches * size
        self.blocks += 1
        self.given, self.round = ids.tolist(), round_number
        message = wire.Feed(
            ids=self.given, boxes=boxes.ravel().tolist(), flips=flips.astype(int).tolist(),
            alone=alone, cold=self.case.storage == COLD,
            content=CONTENTS + self.evidence.entry.number * 2**30 + self.blocks * 2**10
            + self.process,
        )  # fmt: skip
        self.worker.ask(message, wire.Feeding)
        self.worker.run(self.lead)
        if not alone:
            self.evidence.made(self.lead)

    def take(self) -> None:
        """Empty the pipeline; raises CaseEnded if it did not return what was asked for."""
        fed = self.worker.ask(wire.AskFed(), wire.Fed)
        if fed.ids != self.given:
            raise CaseEnded("not-equal", f"pixels: {unlike_ids(self.given, fed.ids)}")
        if self.round is None:
            return
        key = self.process, self.round, self.case.storage
        other, sketch = self.samples.sketches.setdefault(key, (self.label, fed.pixels))
        apart = math.dist(sketch[1:], fed.pixels[1:]) / max(sketch[0], 1e-9)
        if apart > APART:
            raise CaseEnded(
                "not-equal",
                f"pixels: those of a timed batch are off by {apart:.2g} from those of {other} "
                f"(gate {APART})",
            )

    def settle(self, seconds: float) -> float:
        """Seconds per step on the pipeline's batches, measured for about `seconds`. Also measures
        the pipeline alone, as `alone_seconds`.
        """
        if not self.only:
            self.alone_seconds = self.pace(seconds, alone=True)
        return self.pace(seconds, alone=False)

    def pace(self, seconds: float, *, alone: bool) -> float:
        count, found = 1, 0.0
        for _ in range(4):
            self.give(count, alone=alone)
            found = self.worker.run(count).nanoseconds[0] / 1e9
            if not alone:
                self.evidence.made(count)
            self.take()
            if found >= seconds / 2:
                break
            count = max(count + 1, min(8 * count, math.ceil(count * seconds / max(found, 1e-6))))
        return found / count


def unlike_ids(given: Sequence[int], came: Sequence[int]) -> str:
    """How the samples that came differ from those that were given."""
    if len(came) < len(given):
        return f"{len(given) - len(came)} of {len(given)} timed samples are missing"
    if sorted(came) == sorted(given):
        return "timed samples came in another order than the one drawn"
    if set(came) <= set(given):
        return "timed samples differ from those that were drawn: one file comes twice"
    return "timed samples differ from those that were drawn: other files were read"
