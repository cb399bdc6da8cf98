"""A made-up framework that misbehaves on demand: each fault is a framework of its own name.

"rogue.kill" computes what tiny does until its second step, in which it does what `kill` below does.
A method of `Faults` is a fault; one of `Early` happens when the framework is imported.
"""

from __future__ import annotations

import os
import signal

from mbench_tiny import FlakyModel, Runtime, Tiny

from mbench.hookspecs import hookimpl


class Faults:
    """What a step does, by name."""

    def none(self):
        pass

    def kill(self):
        os.kill(os.getpid(), signal.SIGKILL)


class Early(Faults):
    """What the import of the framework does, by name."""


def names(kind):
    return [name for name in vars(kind) if not name.startswith("_")]


class Rogue(Tiny):
    """Tiny, with a fault that its worker reads from a variable."""

    def __init__(self, fault):
        self.name = f"rogue.{fault}"
        self.title = f"Rogue ({fault})"
        self.fault = fault

    runtime = "mbench_rogue:RogueRuntime"

    def variables(self, *, threads, device):
        return {"ROGUE": self.fault}

    def model_file(self, workload):
        return "mbench_tiny"


class RogueRuntime(Runtime):
    """Has its fault at the second step, or at once."""

    steps = 0

    def set_up(self):
        super().set_up()
        self.fault = os.environ["ROGUE"]
        self.adapter = Rogue(self.fault)
        if self.fault in names(Early):
            getattr(Early(), self.fault)()

    def prepare(self, case, workload):
        self.benchmark = FlakyModel
        model = super().prepare(case, workload)
        model.tell("", self.before_step)
        return model

    def before_step(self):
        self.steps += 1
        if self.steps == 2 and self.fault in names(Faults):
            getattr(Faults(), self.fault)()


@hookimpl
def mbench_adapters():
    return [Rogue(fault) for fault in (*names(Faults), *names(Early))]
