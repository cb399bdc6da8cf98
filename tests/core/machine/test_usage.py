"""What was used in a block, computed from samples of counters."""

from __future__ import annotations

import pytest

from mbench.machine.usage import SLACK_SECONDS, usage


def test_others_are_all_but_the_worker(sample):
    seen = usage([
        sample(10, busy_seconds=100.0, worker_seconds=7.0, stolen_seconds=3.0),
        sample(12, busy_seconds=103.5, worker_seconds=8.0, stolen_seconds=3.5),
    ])  # fmt: skip
    assert seen.seconds == 2
    assert seen.worker_cores == 0.5
    assert seen.other_cores == pytest.approx((2.5 - SLACK_SECONDS) / 2)
    assert seen.stolen_cores == 0.25


def test_the_counters_resolution_is_no_load(sample):
    seen = usage([sample(0), sample(0.1, busy_seconds=0.12, worker_seconds=0.1)])
    assert seen.other_cores == 0


def test_counters_are_read_at_the_ends_and_gauges_in_between(sample):
    seen = usage([
        sample(0, mhz=800.0, swapped_bytes=5, cpu_stalled_seconds=1.0, available_bytes=9,
               page_faults=50,
               gpu={"sm_mhz": 300, "joules": 10.0, "slowed_by": 0x8, "celsius": 50}),
        sample(1, mhz=3000.0, swapped_bytes=6, cpu_stalled_seconds=1.1, available_bytes=7,
               gpu={"sm_mhz": 1700, "joules": 99.0, "slowed_by": 0x24, "celsius": 70}),
        sample(2, mhz=3200.0, swapped_bytes=7, cpu_stalled_seconds=1.2, available_bytes=8,
               gpu={"sm_mhz": 1500, "joules": 100.0, "slowed_by": 0, "celsius": 60}),
        sample(4, mhz=900.0, swapped_bytes=25, cpu_stalled_seconds=1.4, available_bytes=9,
               page_faults=90,
               gpu={"sm_mhz": 400, "joules": 410.0, "slowed_by": 0x8, "celsius": 60}),
    ])  # fmt: skip
    assert seen.mhz == 3100.0
    assert seen.swapped_bytes == 20
    assert seen.page_faults == 40
    assert seen.cpu_stalled == pytest.approx(0.1)
    assert seen.available_bytes == 7
    assert seen.gpu_mhz == 1600
    assert seen.gpu_joules == 400
    assert seen.gpu_celsius == 70
    assert seen.gpu_slowed_by == ("power cap", "heat, by the driver")


def test_utilization_is_of_the_block_alone(sample):
    """NVML's is a mean over up to a second, so the first looks include time before the block."""
    looks = [sample(at, gpu={"utilization": share}) for at, share in
             ((0, 0.1), (0.1, 0.3), (1.1, 0.9), (2.1, 0.8), (3, 0.1))]  # fmt: skip
    assert usage(looks).gpu_utilization == pytest.approx(0.85)
    assert usage([looks[0], looks[1], looks[-1]]).gpu_utilization is None


def test_memory_is_the_most_that_was_held(sample):
    looks = [sample(at, gpu={"held_bytes": held}) for at, held in enumerate((5, 9, 7))]
    assert usage(looks).gpu_bytes == 9


def test_what_is_not_known_stays_unknown(sample):
    seen = usage([sample(0, mhz=1.0), sample(1, mhz=1.0)])
    for name in ("throttled", "memory_stalled", "swapped_bytes", "page_faults", "joules",
                 "gpu_mhz", "gpu_watts"):  # fmt: skip
        assert getattr(seen, name) is None
    assert seen.mhz is None, "an idle machine's clock says nothing of the block"
    assert seen.gpu_slowed_by is None


def test_no_time_gives_no_usage(sample):
    assert usage([sample(1), sample(1)]) is None
