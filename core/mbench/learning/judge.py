"""The first two layers: whether frameworks take the same steps and stay on the same path."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median_low
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.results.training import Answers, LossPath

__all__ = ["EXACT", "FAR", "HIDDEN_TIMES", "OFF", "Departure", "distances", "envelope",
           "follow"]  # fmt: skip

EXACT = 1e-9
"""The largest relative difference at which steps in float64 count as the same."""
HIDDEN_TIMES = 100.0
"""If steps differ by more than EXACT, but by less than this many times the effect of changing the
start by one unit in the last place, rounding may explain it all, and layer 1 shows nothing. The
factor is large because every step rounds again. It lets no fault pass, because nothing is then
called equal."""
FAR = 1e300
"""Stands for infinity, which JSON cannot express."""
FAINT = 1e-5
"""A share of the largest change of any tensor. A tensor that changed by less is judged relative to
this share: a gradient that is zero except for rounding, such as that of attention's key bias,
differs in every framework, and AdamW turns it into a change."""
TIMES = 1000.0
"""How far a loss may be from the float64 path, as a multiple of the distance that nudging the start
by one unit in the last place causes. Nudged starts show how rounding grows, but not all that it
does: a ReLU or a maximum that rounding tips to the other side throws a path off at once, and nudged
starts may meet no such case for 20 steps. In one of 11 runs of PyTorch beside itself, that caused
140 times their distance. Sums over images with much black round by 8 to 11 units in each pass in
TensorFlow and MXNet, which caused 27 times. Faults planted in timed steps alone cause 175,000 times
or more. Decay on norms, however, causes only about 45 times, and only layer 1 shows it for
certain."""
FLOOR_UNITS = 16
"""Allowed in addition, in units in the last place of the loss: the rounding of one pass."""
OFF = 0.1
"""Once a loss may be off by more than this share of it, paths show nothing any more."""


def distances(found: Answers, known: Answers) -> dict[str, float]:
    """Relative differences: of losses, of the logits before and after, and of the change of each
    tensor. The difference is infinite if one side has no value, or one that is not finite.
    """
    result = {"losses": worst(found.losses, known.losses)}
    for when, one, other in zip(("before", "after"), found.logits, known.logits, strict=False):
        result[f"logits {when} training"] = apart(one, other)
    least = FAINT * max([0.0, *(one[0] for one in known.changes.values() if one)])
    for name in known.changes.keys() | found.changes.keys():
        one, other = (answers.changes.get(name, []) for answers in (found, known))
        result[name] = apart(one, other, least=least)
    return result


def worst(losses: Sequence[float | None], known: Sequence[float | None]) -> float:
    if len(losses) != len(known) or not losses or None in losses or None in known:
        return math.inf
    pairs = zip(losses, known, strict=True)
    return max(
        abs(a - b) / abs(b) if b else math.inf for a, b in pairs if a is not None and b is not None
    )


def apart(one: Sequence[float], other: Sequence[float], *, least: float = 0.0) -> float:
    """The distance of two tensors by their sketches, relative to the second's norm or to `least`,
    whichever is larger.
    """
    if len(one) != len(other) or not one:
        return math.inf
    norm = max(other[0], least)
    if not norm:
        return 0.0 if not one[0] else math.inf
    signed = float(np.linalg.norm(np.subtract(one[1:], other[1:])))
    return max(signed, abs(one[0] - other[0])) / norm


@dataclass(frozen=True)
class Departure:
    """How closely a path of losses follows the reference: the step up to which they are compared,
    the largest ratio of distance to envelope and its step, and the first step outside the envelope,
    if any.
    """

    steps: int
    ratio: float
    at: int
    outside: int | None
    not_finite: bool = False
    """Whether it ends because a nudged start's loss is not finite, so that rounding decides."""


def envelope(
    paths: Mapping[str, LossPath], reference: Sequence[float | None], label: str
) -> list[float]:
    """At each step, the largest deviation so far of the losses of nudged starts: that of the
    framework `label`, or the median over all frameworks that have that step, whichever is larger.

    The envelope ends where a nudged start of `label` has a loss that is not finite. If the path's
    own loss is not finite there, it has one more step, at which the path is outside.
    """
    if label not in paths:
        return []
    own, path = [widths(path) for path in paths.values()], paths[label]
    mine = widths(path)
    end = len(mine) + ends_itself(path, len(mine))
    found: list[float] = []
    for at in range(min(len(reference), end)):
        there = [one[at] for one in own if at < len(one)]
        last = mine[at] if at < len(mine) else found[-1] if found else 0.0
        found.append(max(last, median_low(there) if there else 0.0))
    return found


def ends_itself(path: LossPath, step: int) -> bool:
    """Whether the path's own loss is not finite at a step."""
    return step < len(path.losses) and path.losses[step] is None


def widths(path: LossPath) -> list[float]:
    """The largest deviation of nudged losses so far, by step, until a loss is not finite."""
    found, most = [], 0.0
    for step, loss in enumerate(path.losses):
        others = [nudged[step] for nudged in path.nudged if step < len(nudged)]
        known = [other for other in others if other is not None]
        if loss is None or len(known) < len(path.nudged):
            break
        most = max([most, *(abs(loss - other) for other in known)])
        found.append(most)
    return found


def follow(
    losses: Sequence[float | None], reference: Sequence[float | None], envelope: Sequence[float],
    *, unit: float,
) -> Departure:  # fmt: skip
    """Compare a path's losses with the reference; `unit` is the precision's last-place unit."""
    ratio, at, outside, steps = 0.0, 0, None, 0
    for step, width in enumerate(envelope):
        right = reference[step]
        if right is None or TIMES * width > OFF * abs(right):
            break
        steps = step + 1
        allowed = TIMES * width + FLOOR_UNITS * unit * abs(right)
        found = losses[step] if step < len(losses) else None
        here = math.inf if found is None else abs(found - right) / allowed
        if here > ratio:
            ratio, at = here, step
        if here > 1 and outside is None:
            outside = step
    cut = outside is None and steps == len(envelope) < min(len(reference), len(losses))
    return Departure(steps, ratio, at, outside, not_finite=cut)
