"""Made-up milliseconds that steps of two frameworks and their parts take, by label, model, set."""

from __future__ import annotations

__all__ = ["PHASES", "deep", "times"]

PHASES = {"forward": 2.0, "backward": 4.0}


def times(label, model, at):
    """A step takes 1.5 ms longer in flaky: its linear layer takes 1 ms of them, and 0.5 ms are in
    no operator. The forward pass takes 1 ms of them, the backward pass 0.2, the update the rest.
    """
    more = label == "flaky"
    if model.startswith("op:linear"):
        return 0.1 + 4 * (2 + more)
    if model.startswith("op:cross"):
        return 0.1 + 4 * 0.5
    if model in PHASES:
        return PHASES[model] + (1.2 if model == "backward" else 1) * more
    return 0.1 + 0.001 * at if model.startswith("op:add") else 5 + 1.5 * more + 0.01 * at


def deep(label, model, at):
    """A step takes 1.5 ms longer in flaky: blocks of "back" take 1.2 ms of them, no block 0.3."""
    more = label == "flaky"
    if model.startswith("op:linear"):
        return 0.1 + 4 * 0.3
    if model in PHASES or model.startswith("op:"):
        return times(label, model, at)
    whole = 5 + 1.5 * more + 0.01 * at
    form, _, part = model.partition(".")
    longer = {"tiny-deep+front": 1.0, "tiny-deep+back": 2 + 1.2 * more}.get(form, 0.0)
    return whole + longer / {"1of2": 2, "1of3": 3}.get(part, 1)
