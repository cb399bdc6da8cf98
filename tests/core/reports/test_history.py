"""Points of a history that differ in an axis, protocol or machine are on different lines."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cases import make_case

from mbench.reports.history import lines
from mbench.results.figures import Figure
from mbench.results.history import History, Point

POINT = Point(
    run="1", started="then", protocol="adaptive", host="made-up", cpu="EPYC", label="tiny",
    framework="tiny", version="1.2", axes=make_case(model="m"),
    figure=Figure(value=1.0, low=None, high=None, unit="images/s", processes=[1.0]),
    change=None,
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"threads": 2}, "tiny: m train, batch 8, fp32, eager, cpu, threads 2"),
        ({"clip": False}, "tiny: m train, batch 8, fp32, eager, cpu, threads 1, without clipping"),
        ({"sizes": {"n": 2}}, "tiny: m train, n 2, batch 8, fp32, eager, cpu, threads 1"),
        ({"protocol": "dlperf"}, "tiny: m train, batch 8, fp32, eager, cpu, threads 1, dlperf"),
        ({"cpu": "Xeon"}, "tiny: m train, batch 8, fp32, eager, cpu, threads 1, Xeon"),
    ],
)
def test_what_differs_is_another_line(change, said):
    own = {name: value for name, value in change.items() if name in ("protocol", "cpu")}
    axes = {name: value for name, value in change.items() if name not in own}
    newer = replace(POINT, run="2")
    other = replace(POINT, axes=replace(POINT.axes, **axes), **own)
    first, second = lines(History(points=[POINT, other, newer])).items()
    assert first[1] == [POINT, newer]
    assert second == (said, [other])
