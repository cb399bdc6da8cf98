"""Several devices treated as one."""

from __future__ import annotations

from fake_nvml import FakeGpu, FakeNvml, process

from mbench.machine.devices import DeviceGroup
from mbench.machine.nvml import Gpu


def made(*answers):
    driver = FakeNvml(*(FakeGpu(at, **one) for at, one in enumerate(answers)))
    return DeviceGroup([Gpu(driver, gpu) for gpu in driver.gpus])


def test_the_slowest_the_hottest_and_all_that_is_drawn():
    """All ranks wait for the slowest, so the worst value counts; power and energy are summed."""
    found = made(
        {"GetTemperature": 60, "GetPowerUsage": 400_000, "GetCurrentClocksThrottleReasons": 0x4},
        {"GetTemperature": 80, "GetPowerUsage": 300_000, "GetCurrentClocksThrottleReasons": 0x20,
         "GetClockInfo": {0: 1500, 1: 1500, 2: 900}},
    ).sample()  # fmt: skip
    assert (found.celsius, found.power_watts, found.slowed_by) == (80, 700.0, 0x24)
    assert (found.sm_mhz, found.joules) == (1500, 6001.0)


def test_a_sum_that_lacks_one_is_none():
    found = made({}, {"GetPowerUsage": None, "GetTemperature": None}).sample()
    assert (found.power_watts, found.celsius) == (None, 61)


def test_memory_is_that_of_the_fullest():
    both = made({}, {"GetComputeRunningProcesses": [process(7, 2**30), process(8, 2**20)]})
    assert both.held_bytes([7]) == 2**30
    assert both.held_bytes([9]) is None
    both.devices[1].handle.answers["GetMemoryInfo"].free = 3
    assert both.memory() == (3, 80 * 2**30)


def test_one_that_is_for_one_process_makes_all_so():
    assert not made({}, {}).for_one
    both = made({}, {"GetComputeMode": 3})
    assert (both.for_one, both.mode) == (True, "exclusive to a process")
    assert (both.name, both.address) == ("NVIDIA Made-Up 100", "0000:3b:00.0")
    assert both.facts()["uuid"] == "GPU-0a2b3c4d-0000"
