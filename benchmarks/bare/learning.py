"""Times mbench's training loop and a framework's own, in turns, over the same arrays.

Usage: python -m bare.learning FOLDER RUNTIME ROUNDS STEPS SEED < MESSAGE

MESSAGE is a PrepareLesson in JSON. The last line of stdout has the seconds of each block, in pairs:
of the framework's own loop, and of mbench's.
"""

from __future__ import annotations

import importlib
import json
import random
import sys
from functools import partial

from mbench.contract import learning, wire
from mbench.worker.clock import time_steps
from mbench.worker.learning import Lessons


def main() -> None:
    folder, runtime, rounds, steps, seed = sys.argv[1:]
    message = wire.decode(sys.stdin.buffer.readline())
    assert isinstance(message, learning.PrepareLesson)
    module, _, name = runtime.partition(":")
    made = getattr(importlib.import_module(module), name)(
        device=message.case.device, threads=message.case.threads
    )
    lessons = Lessons(made, message)
    native = importlib.import_module(f"bare.{folder}_learning").build(message.lesson)
    order = random.Random(int(seed))
    count = int(steps)

    def own(first: int) -> float:
        batches = iter([native.prepared(lessons.feed.batch(first + at)) for at in range(count)])
        rates = iter(lessons.rates[first : first + count])
        elapsed = time_steps(
            lambda: native.step(next(batches), next(rates)), native.synchronize, count=count
        )
        return sum(elapsed.nanoseconds) / 1e9

    def ours(_: int) -> float:
        return lessons.learn(learning.Learn(count=count)).nanoseconds / 1e9

    found = []
    for at in range(1 + int(rounds)):
        pair = {}
        for loop in order.sample((own, ours), 2):
            pair[loop] = partial(loop, at * count)()
        if at:  # the first one warms up
            found.append([pair[own], pair[ours]])
    assert all(loss == loss for loss in native.losses()), "the own loop diverged"
    print(json.dumps(found))


if __name__ == "__main__":
    main()
