"""Input pipelines in a test's own process: what `mbench.measure.pixel_proof` takes for a worker."""

from __future__ import annotations

from concurrent.futures import wait

import numpy as np

from mbench.contract import wire
from mbench.contract.case import Case
from mbench.contract.feed import Source
from mbench.contract.image_folder import scan
from mbench.contract.scenario import Steps
from mbench.engine.outcome import CaseEnded
from mbench.proofs import pixels
from mbench.scenarios.find import work_of
from mbench.worker.feeds import FedCycler, fed, feed

__all__ = ["Bench", "Here"]


class Bench:
    """As much of a benchmark as a pipeline needs."""

    batches = 1

    def step(self, at):
        pass

    step_on = step

    def synchronize(self):
        pass

    def place(self, array):
        return array

    def pixels(self, batch):
        return batch["images"]

    to_numpy = staticmethod(np.asarray)


class Here:
    """A worker in this process, with a pipeline that may lie; it is not stopped."""

    processes = ()

    def __init__(self, folder, made, bench=None, *, loaders=2):
        """`made(benchmark, source)` makes the pipeline."""
        files, bench = scan(str(folder)), bench or Bench()
        source = Source(files, files.labels(), pixels.BATCH, pixels.SIZE, loaders)
        case = Case(
            model="tiny-images", workload="mbench_tiny_images:IMAGES", mode="inference",
            batch_size=pixels.BATCH, precision="fp32", compiler="eager", device="cpu", threads=1,
            data=str(folder), sizes={"image_size": pixels.SIZE},
        )  # fmt: skip
        steps = Steps(bench, work_of(case), bench.step)
        self.cycler = FedCycler(steps, made(bench, source), source)

    def ask(self, message, kind):
        try:
            return (feed if isinstance(message, wire.Feed) else fed)(self.cycler, message)
        except ValueError as error:
            raise CaseEnded("failed", str(error)) from None

    def run(self, count):
        for _ in range(count):
            self.cycler.step()

    def stop(self):
        """Wait until nothing works, as in a process that is stopped."""
        for _, made_ones in getattr(self.cycler.pipeline, "waiting", ()):
            wait(made_ones)

    def resume(self):
        pass
