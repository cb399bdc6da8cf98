"""A machine with its own time, and workers on it that note what is done to them."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from fakes import NotedActivity, SilentWorker
from support.experiments import asked

from mbench.contract import wire
from mbench.contract.adapter import FrameworkInfo
from mbench.contract.rank import SINGLE
from mbench.engine.outcome import CaseEnded
from mbench.environments.environment import Environment
from mbench.machine.pace import Paces
from mbench.machine.records import Sample
from mbench.machine.sampler import Watch
from mbench.measure import rounds
from mbench.measure.execute import measurement_of
from mbench.measure.facts import cases
from mbench.measure.run_context import RunContext
from mbench.plugins.launcher import pids_here
from mbench.results import events
from mbench.results.encoding import decode, encode
from mbench.results.records import CaseRecord, Run
from mbench.scenarios.find import resolve
from mbench.spec.adaptive import Adaptive
from mbench.spec.planning import plan

LOSS = 4.0
INFO = FrameworkInfo(version="1", devices=["cpu"], device_name="CPU", threads=1)


class World:
    """A machine with its own time, on which fake workers run one at a time."""

    def __init__(self):
        self.now = 1000.0
        self.workers = []
        self.faults = {}
        """(label, number of the process, name of the request) -> the exception to raise."""
        self.nonsense = {}
        """(label, type of the answer) -> what is answered instead."""
        self.start_seconds = 0.0
        self.counts = []
        """The number of steps of each request, in order."""
        self.timeouts = []
        """The timeout of each of these requests; None if it is the usual one."""
        self.step_seconds = 0.1
        self.single_seconds = 0.0
        """Extra seconds of a step that is waited for by itself."""
        self.loads = 0
        self.paces = 0
        self.prepared = 0
        self.builds = {}
        """Label -> how many times its workers can prepare a case; without limit if missing."""
        self.speeds = {}
        """Compiler -> step time, instead of `step_seconds`."""
        self.skips = ""
        """The label of workers that count one step too few in each request."""
        self.addresses = {}
        """Label -> address of the GPU that its workers report."""
        self.kept = 4096
        """How many results workers keep."""
        self.renewed = []
        """(label, number of the process, wire.Renew) of each request for new data."""
        self.counts_anew = False
        """Whether workers can reset their peak memory use."""
        self.losses = {}
        """Label -> loss of each step, if it is not LOSS."""
        self.outputs = {}
        """Label -> every number of an output's sketch in inference; no outputs if missing."""
        self.nudged = {}
        """Label -> loss if parameters begin a unit in the last place apart, if it is not LOSS."""
        self.idle_looks = iter(())
        """Seconds that each look takes if no step has been run since the look before."""
        self.noise = None
        """An iterator of step times, one for each worker in turn, instead of `step_seconds`."""

    def launch(self, program, places):
        """The launcher of this world; the label takes the place of the interpreter's path."""
        assert list(places) == [SINGLE]
        label = str(program.python)
        number = sum(worker.label == label for worker in self.workers)
        self.fault(label, number, "launch")
        worker = FakeWorker(self, label, number)
        self.workers.append(worker)
        return worker

    def fault(self, label, number, request):
        if (label, number, request) in self.faults:
            raise self.faults[label, number, request]


class FakeWorker(SilentWorker):
    """Its steps advance the world's clock; it fails if another worker runs at the same time."""

    def __init__(self, world, label, number):
        super().__init__(pid=4711 + len(world.workers))
        self.world, self.label, self.number_of_process = world, label, number
        self.step_seconds = None
        self.steps = self.builds = self.longest = 0
        self.idle = False

    def start(self, message):
        self.device_memory_bytes = message.device_memory_bytes
        return replace(INFO, device_address=self.world.addresses.get(self.label, ""))

    def prepare(self, case, *, load=True, work=None):
        self.world.fault(self.label, self.number_of_process, "prepare")
        if self.step_seconds is None:
            self.world.now += self.world.start_seconds
            self.step_seconds = next(self.world.noise or iter([self.world.step_seconds]))
        self.training = case.mode == "train"
        self.carried = resolve(case).optimizer.carried
        self.steps = self.next_batch = 0
        self.slots, self.contents = 8, {}
        self.world.prepared += 1
        self.builds += 1
        if self.builds > self.world.builds.get(self.label, self.builds):
            raise CaseEnded("oom", "not twice")
        self.step_seconds = self.world.speeds.get(case.compiler, self.step_seconds)
        return self.told(
            wire.Prepared(seconds=0.5, differences=["none"], trainable_parameters=7, batches=8)
        )

    def run(self, count, *, each=False, lead=0, timeout=None):
        self.check_alone()
        self.world.fault(self.label, self.number_of_process, "run" if not each else "each")
        self.idle = False
        self.steps += count - (self.world.skips == self.label)
        self.next_batch = (self.next_batch + count) % self.slots
        # The first single steps belong to the warm-up and take the usual time.
        alone = each or (count == 1 and self.longest > 1)
        self.longest = max(self.longest, count)
        self.world.counts.append(count)
        self.world.timeouts.append(timeout)
        seconds = self.step_seconds + (self.world.single_seconds if alone else 0)
        self.world.now += count * seconds
        step = round(seconds * 1e9)
        return self.told(
            wire.Elapsed(
                start_nanoseconds=round(self.world.now * 1e9),
                nanoseconds=[step] * count if each else [step * count],
            )
        )

    def ask(self, message, answer, *, timeout=None):
        if isinstance(message, wire.Look):
            self.check_alone()
            self.world.fault(self.label, self.number_of_process, "look")
            self.world.now += next(self.world.idle_looks, 0) if self.idle else 0
            self.idle = True
            norm = {"weight": [self.carried(self.steps)] + [0.0] * 5} if message.changes else {}
            loss = self.world.losses.get(self.label, LOSS) if self.training else None
            size = self.world.outputs.get(self.label)
            outputs = {} if self.training or size is None else {"logits": [size] * 6}
            earlier = [
                wire.SeenBefore(back=back, batch=self.number(back), loss=loss, outputs=outputs)
                for back in message.back
            ]
            return self.told(
                wire.Seen(
                    step=self.steps, batch=self.number(0), loss=loss, outputs=outputs, changes=norm,
                    earlier=earlier,
                )
            )  # fmt: skip
        if isinstance(message, wire.Keep):
            self.world.fault(self.label, self.number_of_process, "keep")
            return self.told(wire.Kept(results=self.world.kept, batch_bytes=2**20))
        if isinstance(message, wire.Renew):
            self.check_alone()
            self.world.renewed.append((self.label, self.number_of_process, message))
            self.slots, self.next_batch = message.slots, message.first % message.slots
            for position in range(message.first, message.first + min(message.count, self.slots)):
                seed = message.seeds[position // message.chunk - message.first // message.chunk]
                slot = position % self.slots
                self.contents[slot] = seed * 512 + slot
            return wire.Renewed()
        if isinstance(message, wire.SelectBatch):
            self.next_batch = message.batch
            return wire.BatchSelected()
        if isinstance(message, wire.Nudge):
            self.check_alone()
            self.world.fault(self.label, self.number_of_process, "nudge")
            canonical = seen(self.world.losses.get(self.label, LOSS), message)
            nudged = seen(self.world.nudged.get(self.label, LOSS), message)
            return self.told(wire.Nudged(canonical=canonical, nudged=nudged))
        if isinstance(message, wire.Load):
            self.check_alone()
            self.steps = self.next_batch = 0
            self.world.loads += 1
            return wire.Loaded()
        if isinstance(message, wire.TimeWaits):
            self.check_alone()
            return wire.Elapsed(start_nanoseconds=0, nanoseconds=[3000, 5000, 40_000])
        assert isinstance(message, wire.Memory)
        if message.anew:  # asked once the worker is warm
            return self.told(wire.MemoryUsed(peak_bytes=456, anew=self.world.counts_anew))
        self.world.fault(self.label, self.number_of_process, "memory")
        return self.told(wire.MemoryUsed(peak_bytes=123))

    def number(self, back):
        slot = (self.next_batch - 1 - back) % self.slots
        return self.contents.get(slot, slot)

    def told(self, answer):
        return self.world.nonsense.get((self.label, type(answer)), answer)

    def check_alone(self):
        assert not self.stopped
        assert not self.closed
        for other in self.world.workers:
            assert other is self or other.stopped or other.closed, f"{other.label} is running too"


def seen(size, request):
    sketch = {"weight": [size] * 6}
    if not request.changes_at:
        return [wire.Seen(step=at, batch=0, outputs=sketch) for at in range(1, request.steps + 1)]
    return [
        wire.Seen(step=at, batch=0, loss=size, changes=sketch if at in request.changes_at else {})
        for at in range(1, request.steps + 1)
    ]


class Store:
    """Keeps events in memory; each must be one that can be read back."""

    def __init__(self, system):
        self.system = system
        self.events = []
        self.run = Run(Path("run"), None)

    def append(self, event):
        decode(encode(event))
        if not isinstance(event, events.ComparisonEnd):
            self.run.take(event)
        self.events.append(event)

    def log_path(self, name):
        return Path("logs", name)

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def outcomes(self):
        return [(end.case, end.outcome, end.reason) for end in self.of(events.Outcome)]

    def order(self):
        """(process, round) -> cases in the order in which their blocks were timed."""
        order = {}
        for block in self.of(events.Block):
            order.setdefault((block.process, block.round), []).append(block.case)
        return order


class Sampler:
    """Checks that the worker it watches is the only one running, and counts calls of `paces`."""

    def __init__(self, world):
        self.world = world
        self.gpu = None

    def paces(self):
        assert all(worker.stopped or worker.closed for worker in self.world.workers)
        self.world.paces += 1
        return Paces(core=100_000 + self.world.paces, memory=3_000_000 + self.world.paces)

    @contextmanager
    def watching(self, pids):
        (worker,) = [w for w in self.world.workers if pids_here(w) == pids]
        worker.check_alone()
        watch = Watch(cores=2, samples=[sample(self.world.now)])
        yield watch
        watch.samples.append(sample(self.world.now))


def sample(now):
    return Sample(
        at_nanoseconds=round(now * 1e9), busy_seconds=now, stolen_seconds=0.0, worker_seconds=now,
        available_bytes=2**30,
    )  # fmt: skip


@pytest.fixture
def world(monkeypatch):
    world = World()
    monkeypatch.setattr(rounds, "awake", lambda: world.now)
    return world


@pytest.fixture
def measure(world, plugins, machine):
    """A function that measures tiny and two flakys in the fake world, and returns the store."""

    def measure(
        *, frameworks=("tiny", "flaky", "flaky==1"), mode="train", without=(), protocol=None,
        earlier=None, **constants,
    ):  # fmt: skip
        sweep = asked(frameworks=frameworks, wanted={"model": ("tiny-model",), "mode": (mode,)})
        (comparison,) = plan(sweep, plugins)
        store = Store(machine())
        store.listener, store.sampler = NotedActivity(), Sampler(world)
        store.run.cases = {case.case: CaseRecord(case) for case in cases(comparison)}
        if protocol is None:
            protocol = Adaptive(**{"budget_seconds": 1e9, **constants})
        environments = {
            e.label: Environment(
                label=e.label, python=Path(e.label), python_version="3.11.7", managed=False,
                digest=None, packages={},
            )
            for e in comparison.entries
            if e.label not in without
        }  # fmt: skip
        bench = RunContext(
            protocol=protocol, launcher=world.launch, environments=None, store=store,
            listener=store.listener, sampler=store.sampler, earlier=earlier,
        )  # fmt: skip
        measurement_of(protocol)(comparison, environments, bench).run()
        assert all(worker.closed for worker in world.workers)
        return store

    return measure
