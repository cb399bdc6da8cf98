"""NVML, through a stand-in for NVIDIA's bindings that has their names and units."""

from __future__ import annotations

import os

import pynvml
import pytest
from fake_nvml import FakeGpu, FakeNvml, process

from mbench.contract.device import DeviceSample
from mbench.machine import nvml
from mbench.machine.devices import accelerator


def first():
    return nvml.seen_gpus()[0]


@pytest.fixture
def driver(monkeypatch):
    """A driver with two GPUs."""
    made = FakeNvml()
    monkeypatch.setattr(nvml, "initialised", lambda: made)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return made


def test_units_are_watts_joules_and_shares(driver):
    driver.gpus[0].answers["GetCurrentClocksThrottleReasons"] = 0x24
    assert first().sample() == DeviceSample(
        utilization=0.87, power_watts=412.5, sm_mhz=1755, memory_mhz=2619, celsius=61,
        slowed_by=0x24, joules=3000.5, others=0,
    )  # fmt: skip


def test_power_of_this_moment_comes_before_its_mean(driver):
    driver.gpus[0].instant_milliwatts = 698_000
    assert first().sample().power_watts == 698


def test_what_a_gpu_does_not_tell_is_none(driver):
    driver.gpus[0].answers.clear()
    assert first().sample() == DeviceSample()
    assert first().memory() is None
    assert first().address == ""
    assert first().mode == ""
    assert not first().for_one


@pytest.mark.parametrize(
    ("visible", "numbers"),
    [
        (None, [0, 1]),
        ("1,0", [1, 0]),
        ("GPU-1a2b,0", [1, 0]),
        ("GPU-1a2b3c4d-0000", [1]),
        ("MIG-77", [1]),
        ("7", []),
        ("GPU-ffff", []),
        ("1,MIG-78,0", [1]),
        ("-1", []),
        ("", []),
    ],
)
def test_those_that_workers_see_are_in_their_order(driver, monkeypatch, visible, numbers):
    driver.instances["MIG-77"] = driver.gpus[1]
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert [found.handle for found in nvml.seen_gpus()] == [driver.gpus[at] for at in numbers]


def test_a_gpu_is_found_by_its_place_on_the_bus(driver, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    assert accelerator("cuda", "0000:3c:00.0").handle is driver.gpus[1]
    assert accelerator("cuda", "0000:3c:00.0").address == "0000:3c:00.0"
    assert accelerator("cuda", "0000:99:00.0") is None


def test_a_gpu_is_told_from_another(driver):
    driver.gpus[0].answers.update(GetComputeMode=3, GetMigMode=[1, 1], GetApplicationsClock=None)
    assert first().facts() == {
        "name": "NVIDIA Made-Up 100",
        "uuid": "GPU-0a2b3c4d-0000",
        "address": "0000:3b:00.0",
        "driver_version": "580.95",
        "memory": "81,920 MiB",
        "power_limit": "700 W",
        "highest_sm_clock": "1980 MHz",
        "ecc": "on",
        "mig": "on",
        "compute_mode": "exclusive to a process",
    }
    assert first().for_one


def test_processes_of_others_are_counted(driver):
    ours = os.getpid()
    driver.gpus[0].answers["GetComputeRunningProcesses"] = [process(ours, 2**30), process(1, 2**20)]
    gpu = first()
    assert gpu.others() == 1
    assert gpu.held_bytes([ours]) == 2**30
    assert gpu.held_bytes([ours, 1]) == 2**30 + 2**20
    assert gpu.held_bytes([2]) is None
    assert gpu.sample([ours, 2]).held_bytes == 2**30


def test_processes_that_cannot_be_seen_from_here_are_not_counted(driver):
    """This happens in a container, which has process ids of its own."""
    driver.gpus[0].answers["GetComputeRunningProcesses"] = [process(2**22 + 1)]
    assert first().others() is None


def test_memory_that_is_not_told_is_not_nothing(driver):
    driver.gpus[0].answers["GetComputeRunningProcesses"] = [process(os.getpid())]
    assert first().held_bytes([os.getpid()]) is None


def test_there_is_none_without_a_driver_or_where_it_does_not_answer(monkeypatch):
    monkeypatch.setattr(nvml, "LIBRARY", "libnone.so.1")
    assert not nvml.has_driver()
    assert nvml.seen_gpus() == []
    assert nvml.all_gpus() == []

    def fail():
        raise pynvml.NVMLError(pynvml.NVML_ERROR_DRIVER_NOT_LOADED)

    monkeypatch.setattr(nvml, "has_driver", lambda: True)
    monkeypatch.setattr(pynvml, "nvmlInit", fail)
    assert nvml.seen_gpus() == []


def test_a_driver_that_was_updated_under_a_running_system_is_said_once(monkeypatch, capsys):
    def fail():
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH)

    monkeypatch.setattr(nvml, "has_driver", lambda: True)
    monkeypatch.setattr(pynvml, "nvmlInit", fail)
    nvml.say_mismatch.cache_clear()
    for _ in range(2):
        assert nvml.all_gpus() == []
    assert capsys.readouterr().err.count("so no GPU can be used: reboot") == 1


def test_every_name_that_is_asked_for_is_one_of_the_bindings():
    names = (*FakeGpu().answers, "GetApplicationsClock", "GetCount", "GetHandleByIndex",
             "GetHandleByUUID", "GetDeviceHandleFromMigDeviceHandle", "GetFieldValues")  # fmt: skip
    assert all(callable(getattr(pynvml, f"nvmlDevice{name}")) for name in names)


def test_reasons_are_nvmls_own():
    assert nvml.SLOWDOWNS.keys() == {
        pynvml.nvmlClocksEventReasonSwPowerCap,
        pynvml.nvmlClocksEventReasonHwSlowdown,
        pynvml.nvmlClocksEventReasonSyncBoost,
        pynvml.nvmlClocksEventReasonSwThermalSlowdown,
        pynvml.nvmlClocksEventReasonHwThermalSlowdown,
        pynvml.nvmlClocksEventReasonHwPowerBrakeSlowdown,
    }
    modes = ("DEFAULT", "EXCLUSIVE_THREAD", "PROHIBITED", "EXCLUSIVE_PROCESS")
    assert [*nvml.MODES] == [getattr(pynvml, f"NVML_COMPUTEMODE_{mode}") for mode in modes]
