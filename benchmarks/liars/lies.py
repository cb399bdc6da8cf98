"""The lies, each as a class mixed into an honest benchmark; its docstring describes it."""

from __future__ import annotations

import importlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from liars.batches import BATCHES
from liars.coarse import COARSE
from liars.lie import BOTH, DEEP, TEXT, Lie
from liars.updates import UPDATES
from mbench.sdk.benchmark import Prepared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mbench.contract.case import Case
    from mbench.contract.workload import Workload

__all__ = ["BOTH", "LIES", "TEXT", "Lie"]


class Memo(Lie):
    """outputs are kept while input and parameters stay as they are"""

    modes = ("inference",)

    def load_parameters(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        super().load_parameters(arrays)
        self.memory: dict[int, Any] = {}

    def step(self, at: int) -> None:
        if at not in self.memory:
            super().step(at)
            self.memory[at] = self._result
        self._result = self.memory[at]


class LossMemo(Memo):
    """losses are kept by batch, and no step is made for the second time"""

    modes = ("train",)


class Optimized(Lie):
    """An optimizer with other constants."""

    modes = ("train",)
    other: Sequence[tuple[str, Any]]

    @classmethod
    def falsified(cls, case: Case, workload: Workload) -> tuple[Case, Workload]:
        return case, replace(
            workload, optimizer=replace(workload.optimizer, **cls.constants(workload))
        )

    @classmethod
    def constants(cls, workload: Workload) -> Mapping[str, Any]:
        return dict(cls.other)


class Forward(Optimized):
    """no backward pass, no update"""

    other = (("learning_rate", 0.0),)


class Hasty(Lie):
    """a thread does the steps, 64 of which may be due; synchronize does not wait for it"""

    block = 0.25

    def place_batches(self) -> None:
        self.thread = ThreadPoolExecutor(1)
        self.room = threading.Semaphore(64)
        super().place_batches()

    def settled(self, method: Callable[..., Any], *arguments: Any) -> Any:
        return self.thread.submit(method, *arguments).result()

    def step(self, at: int) -> None:
        self.room.acquire()
        made = self.thread.submit(super().step, at)
        made.add_done_callback(lambda _: self.room.release())

    def load_parameters(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        self.settled(super().load_parameters, arrays)

    def parameters(self) -> Iterator[tuple[str, np.ndarray]]:
        return iter(self.settled(lambda: list(Prepared.parameters(self))))

    def loss(self) -> float:
        found: float = self.settled(super().loss)
        return found

    def outputs(self) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = self.settled(super().outputs)
        return found


class Shallow(Lie):
    """the last block of every stage is left out"""

    model = DEEP

    @staticmethod
    def left(blocks: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(count - 1 for count in blocks)

    @classmethod
    def falsified(cls, case: Case, workload: Workload) -> tuple[Case, Workload]:
        fewer = replace(workload.config, blocks=cls.left(workload.config.blocks))
        return case, replace(workload, config=fewer)

    def load_parameters(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        self.asked = dict(arrays)
        own = self.natives()
        super().load_parameters((name, array) for name, array in self.asked.items() if name in own)

    def parameters(self) -> Iterator[tuple[str, np.ndarray]]:
        own = dict(super().parameters())
        for name, array in self.asked.items():
            yield name, own.get(name, array)


class Gutted(Shallow):
    """12 of 16 blocks are the identity, and nothing is updated"""

    @staticmethod
    def left(blocks: tuple[int, ...]) -> tuple[int, ...]:
        return (1,) * len(blocks)

    @classmethod
    def falsified(cls, case: Case, workload: Workload) -> tuple[Case, Workload]:
        case, workload = super().falsified(case, workload)
        return Forward.falsified(case, workload)


class Forty(Lie):
    """nothing after 40 steps"""

    block = 1.0  # so that a process makes more
    total = 0

    def step(self, at: int) -> None:
        self.total += 1
        if self.total <= 40:
            super().step(at)


class Second(Lie):
    """every second step is skipped"""

    def step(self, at: int) -> None:
        if self.calls % 2 and self.calls > 1:
            self.calls += 1
        else:
            super().step(at)


class Seventeenth(Lie):
    """every 17th step is skipped"""

    def step(self, at: int) -> None:
        if self.calls % 17 == 16:
            self.calls += 1
        else:
            super().step(at)


class Slow(Optimized):
    """half the learning rate"""

    @classmethod
    def constants(cls, workload: Workload) -> Mapping[str, Any]:
        return {"learning_rate": workload.optimizer.learning_rate / 2}


class NoMomentum(Optimized):
    """no momentum"""

    other = (("momentum", 0.0),)


class NoDecay(Optimized):
    """no weight decay"""

    other = (("weight_decay", 0.0),)


class NoClip(Optimized):
    """gradients are not clipped"""

    model = TEXT
    other = (("clip_norm", None),)


class NoDropout(Lie):
    """no dropout"""

    modes, model = ("train",), TEXT

    @classmethod
    def falsified(cls, case: Case, workload: Workload) -> tuple[Case, Workload]:
        return case, replace(workload, config=workload.config.without_dropout())


class Coarse(Lie):
    """a coarser precision than is asked for"""

    precisions = ("fp32", "amp-bf16")
    coarser = (("fp32", "amp-bf16"), ("amp-bf16", "bf16"))

    @classmethod
    def falsified(cls, case: Case, workload: Workload) -> tuple[Case, Workload]:
        other = dict(cls.coarser).get(case.precision, case.precision)
        return replace(case, precision=other), workload


class Fine(Coarse):
    """fp32, where a half precision is asked for and slower"""

    precisions = ("amp-bf16", "bf16")
    coarser = (("amp-bf16", "fp32"), ("bf16", "fp32"))


class Judging(Lie):
    """batch norm by its running statistics in training"""

    modes = ("train",)

    def prepare_training(self) -> None:
        self.judge_only()
        super().prepare_training()


class Clock(Lie):
    """a clock that shows 0.7 of the time"""

    block = 0.25

    def check(self) -> None:
        super().check()
        clock = importlib.import_module("mbench.worker.clock")
        clock.perf_counter_ns = lambda: time.perf_counter_ns() * 7 // 10


class Lazy(Lie):
    """of all steps that are waited for together, only the last is made"""

    block = 1.0

    due: int | None = None

    def step(self, at: int) -> None:
        self.due = at

    def synchronize(self) -> None:
        if self.due is not None:
            super().step(self.due)
            self.due = None
        super().synchronize()


class Ahead(Lie):
    """a thread computes the next batch while nothing is timed"""

    modes = ("inference",)
    batch_ahead, thread = -1, None

    def step(self, at: int) -> None:
        if self.thread is not None:
            self.thread.join()
        if at != self.batch_ahead:
            self._ahead = self.infer(self.placed_batches[at])
        self._result = self._ahead
        self.batch_ahead = (at + 1) % self.batches
        self.thread = threading.Thread(target=self.compute)
        self.thread.start()

    def compute(self) -> None:
        self._ahead = self.infer(self.placed_batches[self.batch_ahead])


class CoarseState(Lie):
    """the optimizer's state in bfloat16"""

    modes, precisions = ("train",), ("fp32", "amp-bf16")

    def train(self, batch: Mapping[str, Any]) -> Any:
        found = super().train(batch)
        self.coarsen_state()
        return found


class Sketched(Lie):
    """outputs with noise of 5 % of their size, as from a random projection"""

    modes = ("inference",)

    def outputs(self) -> dict[str, np.ndarray]:
        noise = np.random.default_rng(self.calls)
        return {name: one * noise.normal(1, 0.05, one.shape).astype(one.dtype)
                for name, one in super().outputs().items()}  # fmt: skip


class Guessed(Lie):
    """the loss of random guesses is told, and nothing computed"""

    modes = ("train",)

    def step(self, at: int) -> None:
        """Nothing."""

    def loss(self) -> float:
        return float(np.log(self.workload.config.classes))


class Pruned(Lie):
    """the smaller half of each weight's numbers is zero"""

    def begin(self) -> None:
        self.synchronize()
        for native in self.natives().values():
            native.write(self.reduced(native.read()))

    def reduced(self, weight: np.ndarray) -> np.ndarray:
        size = np.abs(weight)
        return np.where(size < np.median(size), 0, weight) if weight.ndim > 1 else weight


class LowRank(Pruned):
    """weights of half their rank"""

    def reduced(self, weight: np.ndarray) -> np.ndarray:
        if weight.ndim < 2:
            return weight
        left, values, right = np.linalg.svd(weight.reshape(len(weight), -1), full_matrices=False)
        rank = -(-len(values) // 2)
        found: np.ndarray = (left[:, :rank] * values[:rank]) @ right[:rank]
        return found.reshape(weight.shape).astype(weight.dtype)


class Zeros(Lie):
    """outputs that are not finite are told as zeros"""

    modes = ("inference",)

    def load_parameters(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        super().load_parameters((name, array * np.nan) for name, array in arrays)

    def outputs(self) -> dict[str, np.ndarray]:
        return {name: np.nan_to_num(one) for name, one in super().outputs().items()}


LIES: Mapping[str, type[Lie]] = {
    "none": Lie,
    "memo": Memo, "forward": Forward, "hasty": Hasty, "gutted": Gutted, "shallow": Shallow,
    "forty": Forty, "loss-memo": LossMemo, "second": Second, "seventeenth": Seventeenth,
    "slow": Slow, "no-momentum": NoMomentum, "no-decay": NoDecay, "no-clip": NoClip,
    "no-dropout": NoDropout, "coarse": Coarse, "fine": Fine, "judging": Judging, "clock": Clock,
    "lazy": Lazy, "ahead": Ahead, "coarse-state": CoarseState, "sketched": Sketched,
    "guessed": Guessed, "zeros": Zeros, "pruned": Pruned, "low-rank": LowRank,
    **BATCHES, **UPDATES, **COARSE,
}  # fmt: skip
