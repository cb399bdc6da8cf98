"""NVML by a stand-in for NVIDIA's bindings, which keeps to their names and units."""

from __future__ import annotations

from types import SimpleNamespace

import pynvml
import pytest

from mbench.telemetry import nvml
from mbench.telemetry.sample import GpuSample

ANSWERS = {
    "GetUtilizationRates": SimpleNamespace(gpu=87, memory=40),
    "GetPowerUsage": 412_500,
    "GetTotalEnergyConsumption": 3_000_500,
    "GetTemperature": 61,
    "GetCurrentClocksThrottleReasons": 0x24,
}


@pytest.fixture
def driver(monkeypatch, tmp_path):
    """A driver with two GPUs; what is taken out of `answers` it does not support."""
    asked = SimpleNamespace(answers=dict(ANSWERS), handles=[])

    def handle(name):
        def take(which):
            asked.handles.append((name, which))
            return which

        return take

    def answer(name):
        def take(handle, *arguments):
            if name not in asked.answers:
                raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
            return asked.answers[name]

        return take

    monkeypatch.setattr(pynvml, "nvmlInit", lambda: None)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetHandleByIndex", handle("index"))
    monkeypatch.setattr(pynvml, "nvmlDeviceGetHandleByUUID", handle("uuid"))
    for name in ANSWERS:
        monkeypatch.setattr(pynvml, f"nvmlDevice{name}", answer(name))
    clocks = {pynvml.NVML_CLOCK_SM: 1755, pynvml.NVML_CLOCK_MEM: 2619}
    monkeypatch.setattr(pynvml, "nvmlDeviceGetClockInfo", lambda handle, kind: clocks[kind])
    monkeypatch.setattr(nvml, "DRIVER", tmp_path)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return asked


def test_units_are_watts_joules_and_shares(driver):
    assert nvml.find_gpu().sample() == GpuSample(
        utilization=0.87, power_watts=412.5, sm_mhz=1755, memory_mhz=2619, celsius=61,
        slowed_by=0x24, joules=3000.5,
    )  # fmt: skip


def test_what_a_gpu_does_not_tell_is_none(driver):
    driver.answers.clear()
    assert nvml.find_gpu().sample() == GpuSample(sm_mhz=1755, memory_mhz=2619)


@pytest.mark.parametrize(
    ("visible", "handle"),
    [
        ("", ("index", 0)),
        ("3,1", ("index", 3)),
        ("GPU-8f1a,1", ("uuid", "GPU-8f1a")),
        ("MIG-77", ("uuid", "MIG-77")),
    ],
)
def test_the_gpu_is_the_first_visible_one(driver, monkeypatch, visible, handle):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    nvml.find_gpu()
    assert driver.handles == [handle]


def test_there_is_none_without_a_driver_or_where_it_does_not_answer(driver, monkeypatch, tmp_path):
    def fail():
        raise pynvml.NVMLError(pynvml.NVML_ERROR_DRIVER_NOT_LOADED)

    monkeypatch.setattr(pynvml, "nvmlInit", fail)
    assert nvml.find_gpu() is None
    monkeypatch.setattr(nvml, "DRIVER", tmp_path / "none")
    assert nvml.find_gpu() is None


def test_every_name_that_is_asked_for_is_one_of_the_bindings():
    names = (*ANSWERS, "GetHandleByIndex", "GetHandleByUUID", "GetClockInfo")
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
