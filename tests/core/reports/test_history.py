"""Lines of a history: what differs in any axis, in the protocol or in the machine is another."""

from __future__ import annotations

import pytest

from mbench.reports.history import lines

POINT = {
    "label": "tiny", "protocol": "adaptive", "cpu": "EPYC", "model": "m", "mode": "train",
    "sizes": {}, "batch_size": 8, "precision": "fp32", "tier": "default",
    "compiler": "eager", "device": "cpu",
    "threads": 1, "variables": {}, "steadiness": "usual", "scale": "1x1", "clip": True,
    "dropout": True, "phase": "",
}  # fmt: skip


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
    newer, other = {**POINT, "run": 2}, {**POINT, **change}
    first, second = lines({"points": [POINT, other, newer]}).items()
    assert first[1] == [POINT, newer]
    assert second == (said, [other])
