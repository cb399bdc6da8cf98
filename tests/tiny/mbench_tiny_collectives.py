"""Collectives in the tiny framework: their definitions, on what its star of sockets gathers.

Lies of flaky: miscounted (rank 1 adds one to a number), alone (nothing is exchanged), partial (rank
0 leaves out what the others give), hoarded (after some steps, earlier results are returned again).
"""

from __future__ import annotations

from mbench_tiny import Eager

HONEST_STEPS = 20


class Collective(dict):
    """A model without tensors."""

    lie = ""
    steps = 0

    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.kept = None


def build(kind):
    return Collective(kind)


def forward(model, batch):
    model.steps += 1
    if model.lie == "hoarded" and model.steps > HONEST_STEPS:
        return model.kept
    found = {}
    for call in range(model.kind.calls):
        own = {one.name: batch[f"{one.name}.{call}"] for one in model.kind.inputs()}
        got = model.kind.together(exchanged(model, model.kind.gives(own)))[Eager.exchange.rank]
        if got is not None:
            found[f"output.{call}"] = got
        found.update((f"{name}.{call}", array) for name, array in model.kind.alone(own).items())
    model.kept = found
    return found


def exchanged(model, payload):
    """The payloads that the ranks give, by rank."""
    exchange = Eager.exchange
    if model.lie == "alone":
        return [payload] * exchange.ranks
    given = payload
    if model.lie == "miscounted" and exchange.rank == 1:
        given = payload.copy()
        given.flat[given.size // 2] += 1
    found = exchange.gathered(given)
    if model.lie == "partial" and exchange.rank == 0:
        found = [payload, *(0 * one for one in found[1:])]
    return found
