"""What reports say of several devices: how much faster they are than one, and how far ranks lie
apart.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mbench.contract import axes
from mbench.contract.axes import hushed, name

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["scaling_lines"]

Document = dict[str, Any]
WIDE = 0.01
"""A spread of ranks' times that is spoken of."""


def scaling_lines(document: Document) -> list[str]:
    """A line for each case of several devices that was measured."""
    less = {"scale", *hushed(document["cases"])}
    lines = []
    for case in document["cases"]:
        if case["devices"] < 2 or not (case["throughput"] or {}).get("value"):
            continue
        who = f"{case['label']}, {name(case, less=less)}, on {case['scale']} devices"
        said = [f"global batch {case['global_batch_size']}"]
        said += [*speed_up(document, case), *straggler(case)]
        lines.append(f"{who}: {'; '.join(said)}")
    return lines


def speed_up(document: Document, case: Document) -> Iterator[str]:
    """Over the case that has one device and is the same otherwise."""
    for alone in document["cases"]:
        same = alone["label"] == case["label"]
        same = same and axes.key(alone, less={"scale"}) == axes.key(case, less={"scale"})
        if not same or alone["devices"] != 1 or not (base := alone["throughput"]):
            continue
        found, devices = case["throughput"], case["devices"]
        times = found["value"] / base["value"]
        ends = ""
        if all(one["low"] for one in (found, base)):
            # They were measured one after the other: their errors are independent, and add up.
            widths = (math.log(one["high"] / one["low"]) / 2 for one in (found, base))
            width = math.exp(math.hypot(*widths))
            ends = f" ({times / width:.3g} .. {times * width:.3g})"
        yield f"{times:.3g} times one device{ends}, {times / devices:.0%} of {devices}"


def straggler(case: Document) -> Iterator[str]:
    """Who was the slowest, and by how much."""
    ranks = case["ranks"]
    if ranks is None:
        return
    spread, shares = ranks["spread"], ranks["slowest"]
    at = max(range(len(shares)), key=shares.__getitem__)
    who = f", rank {at} most often ({shares[at]:.0%} of blocks)" if spread >= WIDE else ""
    yield f"the slowest rank takes {spread:.1%} longer than the fastest{who}"
