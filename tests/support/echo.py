"""A stranger's plugin: a scenario that makes a forward pass several times, and its metric.

Tests install it as the module `mbench_echo`; nothing of mbench knows it.
"""

from __future__ import annotations

from mbench.contract.metric import LOWER, THROUGHPUT, Metric
from mbench.contract.scenario import Steps
from mbench.plugins.hooks import hookimpl
from mbench.scenarios.base import ScenarioBase

PASSES = ("first", "second", "third")


def time_to_first(timed, facts):
    instants = timed.marks.get("first", ())
    return sum(instants) / len(instants) / 1e6 if instants else None


TIME_TO_FIRST = Metric(
    name="time_to_first",
    title="time to first pass",
    unit="ms",
    of=time_to_first,
    better=LOWER,
    says="time until the first of a step's passes is done",
    verdicts=("quicker", "later"),
)


class Echo(ScenarioBase):
    """Repeats a forward pass on the same batch; what the last pass leaves is the evidence."""

    name = "echo"
    says = "several forward passes on the same batch"
    metrics = (TIME_TO_FIRST, THROUGHPUT)

    def flops(self, workload):
        return len(PASSES) * workload.forward_flops()

    def prepare(self, benchmark, work):
        infer = benchmark.infer_step()

        def call(batch):
            for _ in PASSES:
                found = infer(batch)
                mark()
            return found

        steps = Steps(benchmark, work, call, marks=PASSES)
        mark = steps.mark
        return steps


ECHO = Echo()


@hookimpl
def mbench_scenarios():
    return {"echo": "mbench_echo:ECHO"}
