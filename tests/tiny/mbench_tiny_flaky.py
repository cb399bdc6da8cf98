"""The runtime of "flaky": tiny, except that at step N it does what the variable FLAKY says.

These are raise@N, kill@N, hang@N, oom@N, exit@N, slow (each step takes 2 ms longer), silent (does
not start), hasty (does not wait for its steps), merged (does one step of a block), blind (has no
profiler), or, for the proof of equal work, a lie about the step: frozen, no-decay, unscaled,
undivided, nan, extra, kept, drowsy (its update sleeps), or about a tensor: reversed (each row of
the weight), doubled (the bias).

Of several ranks, apart, summed, led, halved are lies about their exchange
(mbench_tiny_exchange.py); of operators, shared, unread, zeros, deaf, sleepy
(mbench_tiny_operators.py); of collectives, miscounted, alone, partial, hoarded
(mbench_tiny_collectives.py); of a model with stages, napping (mbench_tiny_deep.py). Lies about what
is not timed, and faults done to others, are deferred, forged, pinned, paused, wider
(mbench_tiny_unfair.py).

Some lie only while a case is timed, so proofs pass: memo, stale, forty, second, half, clock, and
those that begin late: replay, replay-ends, trunk-reuse, last-layer, sleeper, memo-paced.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from mbench_tiny import SLEEP_SECONDS, TINY, Eager, Flaky, Model, Runtime
from mbench_tiny_unfair import UNFAIR, UnfairModel

from mbench.sdk.runtime import RuntimeBase

MOST_DUE = 4000
"""How many steps may wait for the thread: some tenths of a second."""


class FlakyModel(Model):
    """Tells `lie`. Each step begins with `fault`, by which the runtime counts steps."""

    lie = ""

    def fault(self):
        """Does nothing while the model is being prepared."""

    def tell(self, lie, fault):
        self.lie, self.fault = lie, fault
        if self.updates:
            self.update.lie = lie
        self.model_lie(lie)

    def model_lie(self, lie):
        if hasattr(self.model, "lie"):
            self.model.lie = lie

    def step(self, at):
        self.fault()
        kept = getattr(self, "_result", None)
        super().step(at)
        if self.lie == "kept" and kept is not None:
            self._result = kept

    def infer(self, batch):
        model = self.model
        if self.lie == "reversed":
            model = {**model, "weight": model["weight"][:, ::-1]}
        if self.lie == "sleepy" and not hasattr(self.model, "lie"):
            time.sleep(SLEEP_SECONDS)
        if self.lie == "doubled":
            model = {**model, "bias": 2 * model["bias"]}
        return self.family.forward(model, batch)

    def parameters(self):
        yield from super().parameters()
        if self.lie == "extra":
            yield "surplus", np.zeros(3)

    def loss(self):
        return float("nan") if self.lie == "nan" else super().loss()


class TwoFacedModel(FlakyModel):
    """Honest in proofs, which it recognises by their batch size. Timed, it keeps each batch's
    outputs (memo) or those of the first (stale), does nothing after 40 calls (forty), skips every
    second update (second) or takes half of each batch (half).
    """

    def tell(self, lie, fault):
        super().tell("", fault)
        self.timed = lie if self.case.batch_size != TINY.proof["batch_size"] else ""
        self.calls, self.memory = 0, {}
        if self.timed == "half":
            self.placed_batches = [
                {k: v[: len(v) // 2] for k, v in b.items()} for b in self.placed_batches
            ]

    def step(self, at):
        self.calls += 1
        if self.timed == "forty" and self.calls > 40:
            return
        key = {"memo": at, "stale": 0}.get(self.timed)
        if key in self.memory:
            self._result = self.memory[key]
            return
        super().step(at)
        if key is not None:
            self.memory[key] = self._result

    def apply(self, gradients):
        if self.timed != "second" or not self.calls % 2:
            super().apply(gradients)

    def train(self, batch):
        before = {name: array.copy() for name, array in self.model.items()}
        found = super().train(batch)
        if self.timed == "second" and self.calls % 2:
            for name, array in self.model.items():
                array[:] = before[name]
        return found


LATE = ("replay", "replay-ends", "trunk-reuse", "last-layer", "sleeper", "memo-paced")


class LateModel(FlakyModel):
    """Honest in proofs, and in the first steps after a load. Later it reuses what it knows of each
    batch, by the batch's number.

    This is the gradient and the loss (replay), except in the step that it takes for the last of a
    block (replay-ends), or in every second turn of the batches (trunk-reuse), or except for the
    gradient of the bias (last-layer); or the loss, while nothing is updated (sleeper); or the
    outputs, after half of a step's time (memo-paced).
    """

    START = 24
    timed, calls, in_block, longest = "", 0, 0, 0

    def tell(self, lie, fault):
        super().tell("", fault)
        self.timed = lie if self.case.batch_size != TINY.proof["batch_size"] else ""
        self.calls = self.in_block = self.longest = 0
        self.known, self.seconds = {}, 0.0

    def load_parameters(self, arrays):
        super().load_parameters(arrays)
        self.calls = 0

    def synchronize(self):
        super().synchronize()
        self.longest, self.in_block = max(self.longest, self.in_block), 0

    def step(self, at):
        self.calls += 1
        self.in_block += 1
        if self.calls > self.START and self.timed == "memo-paced" and at in self.known:
            self._result = self.known[at]
            self._kept.append(self._result)
            time.sleep(self.seconds / 2)
            return
        begin = time.perf_counter()
        super().step(at)
        if self.calls <= self.START:
            self.seconds = time.perf_counter() - begin
        if self.timed == "memo-paced":
            self.known[at] = self._result

    def honest(self):
        return (
            self.calls <= self.START
            or (self.timed == "replay-ends" and self.in_block >= self.longest)
            or (self.timed == "trunk-reuse" and self.calls // len(self.placed_batches) % 2)
            or self.at not in self.known
        )

    def train(self, batch):
        if self.timed not in ("replay", "replay-ends", "trunk-reuse", "last-layer", "sleeper"):
            return super().train(batch)
        if self.honest() or self.timed == "last-layer":
            found, chances = self.family.loss(self.infer(batch), batch)
            gradients = self.gradients(chances, batch)
            if not self.honest():
                gradients["weight"] = self.known[self.at][1]["weight"]
            else:
                self.known[self.at] = found, gradients
        else:
            found, gradients = self.known[self.at]
            time.sleep(self.seconds / 2)
        if self.timed != "sleeper" or self.honest():
            self.update(gradients)
        return found


class HastyModel(FlakyModel):
    """Its steps are done by a thread, for which synchronize does not wait; results do."""

    def build(self):
        self.thread = ThreadPoolExecutor(1)
        self.room = threading.Semaphore(MOST_DUE)
        return super().build()

    def settled(self, method, *arguments):
        return self.thread.submit(method, *arguments).result()

    def step(self, at):
        self.room.acquire()
        made = self.thread.submit(super().step, at)
        made.add_done_callback(lambda _: self.room.release())

    def load_parameters(self, arrays):
        self.settled(super().load_parameters, arrays)

    def parameters(self):
        return self.settled(super().parameters)

    def loss(self):
        return self.settled(super().loss)

    def outputs(self):
        return self.settled(super().outputs)


class MergedModel(FlakyModel):
    """Does only the first step between two synchronisations, as if nobody could see that."""

    done = False

    def step(self, at):
        if not self.done:
            super().step(at)
        self.done = True

    def synchronize(self):
        self.done = False


class FlakyRuntime(Runtime):
    adapter = Flaky()

    def set_up(self):
        super().set_up()
        self.fault, _, at = os.environ.get("FLAKY", "").partition("@")
        self.at, self.steps = int(at or 0), 0
        if Eager.exchange:
            Eager.exchange.lie = self.fault
        if self.fault == "silent":
            time.sleep(3600)
        if self.fault == "clock":
            clock = importlib.import_module("mbench.worker.clock")
            clock.perf_counter_ns = lambda: time.perf_counter_ns() // 2

    def profiled(self, folder):
        blind = self.fault == "blind"
        return RuntimeBase.profiled(self, folder) if blind else super().profiled(folder)

    def prepare(self, work):
        steady = work.case.compiler == "steady"
        flaky = {"hasty": HastyModel, "merged": MergedModel}.get(self.fault, FlakyModel)
        if self.fault in ("memo", "stale", "forty", "second", "half"):
            flaky = TwoFacedModel
        if self.fault in LATE:
            flaky = LateModel
        if self.fault in UNFAIR:
            flaky = UnfairModel
        self.benchmark = Model if steady else flaky
        model = super().prepare(work)
        if self.fault in UNFAIR:
            model.tell(self.fault)
            return model
        if not steady and work.scenario.builds_model:
            model.tell(self.fault, self.before_step)
        return model

    def before_step(self):
        if self.fault == "slow":
            time.sleep(0.002)
        self.steps += 1
        if not self.at or self.steps < self.at:
            return
        if self.fault == "raise":
            raise RuntimeError("the tiny framework has\nlost its mind")
        if self.fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault == "hang":
            time.sleep(3600)
        if self.fault == "exit":
            print("going down", file=sys.stderr, flush=True)
            os._exit(3)
        if self.fault == "oom":
            np.ones(2**50, dtype=np.uint8)
