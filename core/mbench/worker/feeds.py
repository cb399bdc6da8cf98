"""Steps whose batches come from a framework's own input pipeline, while the parent asks for it.

Steps without `Feed` use resident batches, in the same loop as all other cases. So the step alone,
the pipeline alone and both together are timed in one process.
"""

from __future__ import annotations

import base64
import contextlib
import os
from typing import TYPE_CHECKING

import numpy as np

from mbench.contract import wire
from mbench.contract.adapter import Unsupported
from mbench.contract.feed import RESIDENT, Plan, Source, feed_of
from mbench.contract.image_folder import scan
from mbench.contract.sketch import sketch, thinned
from mbench.worker.batch_cycler import BatchCycler

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mbench.contract.case import Case
    from mbench.contract.feed import Pipeline
    from mbench.contract.scenario import Steps
    from mbench.contract.tensors import Tensors

__all__ = ["FedCycler", "fed", "fed_cycler", "feed", "is_fed"]

PIXELS = "images"
"""The name under which pixels are sketched."""
READ_BYTES = 2**20
CHECKED = 8
"""How many files are checked. One is not enough: a fast disk reads ahead before the check is over,
so 1 % of the files that had been dropped were found in memory."""


def is_fed(case: Case) -> bool:
    """Whether steps of a case may get their batches from an input pipeline."""
    return feed_of(case.data) != RESIDENT


class FedCycler(BatchCycler):
    """Steps on batches of a pipeline as long as any are left, and otherwise on resident ones."""

    def __init__(
        self, steps: Steps, pipeline: Pipeline, source: Source, *, threads: int = 0
    ) -> None:
        """`threads`: how many cores this process and its children may use; 0: all."""
        super().__init__(steps)
        self.threads = threads
        self.pipeline = pipeline
        self.depth = pipeline.depth
        self.differences = pipeline.differences
        self.source = source
        self.left = 0
        """Number of batches of the plan that have not been taken yet."""
        self.alone = self.keep = False
        self.content = 0
        self.ids: list[np.ndarray] = []
        self.kept: list[Tensors] = []
        """The last batch that a step took, or all batches if `keep`."""
        self._read: set[int] = set()
        self._dropped = False
        """Whether files were dropped from memory before: the first time is checked."""
        self._fed = False
        """Whether the last step was on a batch of the pipeline."""

    def begin(self, message: wire.Feed) -> None:
        """See wire.Feed."""
        self.drain()
        if self.threads:  # again, because OpenMP's runtime gives a forked loader all cores
            confine(self.threads)
        plan = Plan(
            np.array(message.ids, dtype=np.int64),
            np.array(message.boxes, dtype=np.int64).reshape(-1, 4),
            np.array(message.flips, dtype=bool),
        )
        size = self.source.batch_size
        files = len(self.source.files)
        if len(plan) % size or not len(plan) or plan.ids.max() >= files:
            raise ValueError(f"{len(plan)} samples for batches of {size} from {files} files")
        wanted = [self.source.files.path(at) for at in np.unique(plan.ids)]
        if message.cold:
            drop_from_memory(wanted, check=not self._dropped)
            self._dropped = True
        else:
            fresh = [at for at in np.unique(plan.ids).tolist() if at not in self._read]
            read_into_memory(self.source.files.path(at) for at in fresh)
            self._read.update(fresh)
        self.alone, self.keep, self.content = message.alone, message.keep, message.content
        self.ids, self.kept = [], []
        self.left = len(plan) // size
        self.pipeline.begin(plan)

    def take(self) -> Tensors:
        self.left -= 1
        try:
            batch = next(self.pipeline)
        except StopIteration:
            self.left = 0
            raise ValueError("the input pipeline ended before its last batch") from None
        self.ids.append(self.pipeline.ids())
        return batch

    def step(self) -> None:
        self._fed = self.left > 0
        if not self._fed:
            super().step()
            return
        batch = self.take()
        if self.keep:
            self.kept.append(batch)
        else:
            self.kept[:] = [batch]
        if not self.alone:
            self.steps += 1
            self.prepared.benchmark.step_on(batch)

    def drain(self) -> None:
        """Take what batches are left, untimed: no loader works while this process is stopped."""
        while self.left:
            batch = self.take()
            if self.keep:
                self.kept.append(batch)

    def number(self, back: int = 0) -> int:
        return self.content if self._fed else super().number(back)

    def report(self) -> wire.Fed:
        """See wire.Fed."""
        self.drain()
        benchmark = self.prepared.benchmark
        pixels = [benchmark.pixels(batch) for batch in self.kept]
        labels = [benchmark.to_numpy(batch["labels"]).ravel() for batch in self.kept]
        images = ""
        if self.keep and pixels:
            whole = np.ascontiguousarray(np.concatenate(pixels).astype("<f4"))
            images = base64.b64encode(whole.tobytes()).decode()
        found = wire.Fed(
            batches=len(self.ids),
            ids=[int(one) for batch in self.ids for one in batch],
            labels=[int(one) for batch in labels for one in batch],
            pixels=sketch(PIXELS, thinned(pixels[-1])) if pixels else [],
            images=images,
        )
        self.kept = []
        return found

    def close(self) -> None:
        self.pipeline.close()


def fed_cycler(steps: Steps) -> FedCycler:
    """The steps of a case with its input pipeline, opened; raises Unsupported."""
    case = steps.work.case
    folder = scan(case.data)
    confine(case.threads)
    size = getattr(steps.work.workload.config, "image_size", 0)
    source = Source(
        files=folder,
        labels=folder.labels(),
        batch_size=case.batch_size,
        size=size,
        loaders=case.loaders or case.threads,
    )
    return FedCycler(steps, steps.benchmark.files(source), source, threads=case.threads)


def confine(threads: int) -> None:
    """Limit this process, and all that it has started and will start, to as many cores as threads
    were requested, so that no framework's loaders get more cores than another's.
    """
    if not hasattr(os, "sched_setaffinity"):
        return
    cores = sorted(os.sched_getaffinity(0))[:threads]
    for pid in family():
        with contextlib.suppress(OSError):  # it has ended
            for name in os.listdir(f"/proc/{pid}/task"):
                with contextlib.suppress(OSError):
                    os.sched_setaffinity(int(name), cores)


def family() -> list[int]:
    """This process and all its descendants, such as those that compile for it."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError), open(f"/proc/{name}/stat", "rb") as file:
                line = file.read()
                parent = int(line[line.rindex(b")") + 2 :].split()[1])
                children.setdefault(parent, []).append(int(name))
    found = [os.getpid()]
    for pid in found:
        found += children.get(pid, [])
    return found


def read_into_memory(paths: Iterable[str]) -> None:
    """Read files so that they are in the page cache."""
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            while file.read(READ_BYTES):
                pass


def drop_from_memory(paths: Sequence[str], *, check: bool) -> None:
    """Drop files from the page cache. With `check`, raises Unsupported if they stay there. The
    check reads ahead in the first files, so the next block should not be timed.
    """
    if not hasattr(os, "posix_fadvise"):
        raise Unsupported("--storage cold needs posix_fadvise, which this system does not have")
    stay = check
    for at, path in enumerate(paths):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fdatasync(handle)  # unwritten data would stay in memory
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            if at < CHECKED:
                stay = stay and in_memory(handle)
        finally:
            os.close(handle)
    if stay:
        folder = os.path.dirname(paths[0])
        raise Unsupported(f"--storage cold has no effect on files that are kept in memory, "
                          f"such as those in {folder}")  # fmt: skip


def in_memory(handle: int) -> bool:
    """Whether the beginning of a file is in the page cache; False if that is unknown."""
    try:
        return os.preadv(handle, [bytearray(1)], 0, os.RWF_NOWAIT) > 0
    except (OSError, AttributeError):  # usually BlockingIOError
        return False


def feed(cycler: BatchCycler, message: wire.Feed) -> wire.Feeding:
    fed_one(cycler).begin(message)
    return wire.Feeding()


def fed(cycler: BatchCycler, message: wire.AskFed) -> wire.Fed:
    return fed_one(cycler).report()


def fed_one(cycler: BatchCycler) -> FedCycler:
    if not isinstance(cycler, FedCycler):
        raise Unsupported("the case has no input pipeline")
    return cycler
