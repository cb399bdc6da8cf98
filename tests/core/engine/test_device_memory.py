"""How much of a device's memory workers may take, and which workers are found to hold more."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from cases import make_case
from fake_nvml import FakeGpu, FakeNvml, process

from mbench.engine import local, memory
from mbench.engine.machines import describe_machine
from mbench.engine.memory import CONTEXT_BYTES, DeviceMemory, allocator_bytes, device_memory_of
from mbench.machine import nvml
from mbench.machine.records import DeviceSeen

GIB = 2**30
ON_GPU = make_case(device="cuda")


@pytest.fixture
def device(monkeypatch):
    """A fake GPU of 80 GiB, 70 of which are free; returns its answers, which a test may change."""
    gpu = FakeGpu()
    monkeypatch.setattr(nvml, "initialised", lambda: FakeNvml(gpu))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return gpu.answers


def test_what_is_free_is_shared_out_and_a_tenth_kept(device):
    found = device_memory_of(ON_GPU, local.start)
    assert found.free_bytes == 70 * GIB
    assert found.limit_bytes(None, workers=1) == pytest.approx(63 * GIB)
    assert found.limit_bytes(None, workers=4) == pytest.approx(63 * GIB / 4)
    assert found.limit_bytes(2 * GIB, workers=4) == 2 * GIB
    assert found.limit_bytes(200 * GIB, workers=4) == pytest.approx(63 * GIB / 4)


def test_the_cpu_has_none_and_nor_has_a_gpu_that_does_not_tell(device):
    assert device_memory_of(make_case(), local.start) is None
    del device["GetMemoryInfo"]
    assert device_memory_of(ON_GPU, local.start) is None


def test_the_driver_takes_its_part_of_a_share():
    assert allocator_bytes(4 * GIB) == 4 * GIB - CONTEXT_BYTES
    assert allocator_bytes(1) == memory.LEAST_BYTES


def test_a_worker_is_judged_by_what_it_and_its_children_hold(device):
    found = device_memory_of(ON_GPU, local.start)
    device["GetComputeRunningProcesses"] = [process(os.getpid(), 11 * GIB), process(1, 50 * GIB)]
    assert found.excess([os.getpid()], 10 * GIB, free_before=0) == ""
    said = found.excess([os.getpid()], 9 * GIB, free_before=0)
    assert said == "it held 11,264 MiB of the GPU's memory; its share is 9,216 MiB"


def test_where_processes_are_hidden_what_has_been_taken_since_counts(device):
    found = device_memory_of(ON_GPU, local.start)
    assert found.excess([os.getpid()], 10 * GIB, free_before=found.free_now()) == ""
    assert "20,480 MiB" in found.excess([os.getpid()], 10 * GIB, free_before=90 * GIB)


def test_the_room_of_an_instance_is_its_own(monkeypatch):
    """The handle of a divided GPU reports the memory of the whole GPU, so the instance is asked."""
    whole, instance = FakeGpu(), FakeGpu()
    instance.answers["GetMemoryInfo"].free = 9 * GIB
    made = FakeNvml(whole)
    made.instances["MIG-1"] = whole
    made.parts["MIG-1"] = instance
    monkeypatch.setattr(nvml, "initialised", lambda: made)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-1")
    found = device_memory_of(ON_GPU, local.start)
    assert isinstance(found, DeviceMemory)
    assert found.free_bytes == 9 * GIB


def gpu_with(free):
    gpu = FakeGpu()
    gpu.answers["GetMemoryInfo"].free = free * GIB
    return gpu


def test_of_several_the_fullest_counts(monkeypatch):
    """GPUs that the case does not use do not count."""
    made = FakeNvml(gpu_with(70), gpu_with(20), gpu_with(3))
    monkeypatch.setattr(nvml, "initialised", lambda: made)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    for scale, free in (("1x1", 70), ("1x2", 20), ("1x3", 3)):
        found = device_memory_of(make_case(device="cuda", scale=scale), local.start)
        assert found.free_bytes == free * GIB, scale
        assert found.free_now() == free * GIB, scale


def test_where_workers_run_elsewhere_their_machines_count_and_not_this_one(device):
    def machine(*free, for_one=False):
        mode = "exclusive to a process" if for_one else "shared"
        seen = DeviceSeen(
            kind="cuda",
            mode=mode,
            for_one=for_one,
            free_bytes=[count * GIB for count in free],
            total_bytes=[80 * GIB for _ in free],
        )
        return replace(describe_machine(), devices=[seen])

    class Engine:
        def machines(self):
            return {"a": machine(40, 2), "b": machine(30, 1, for_one=True), "c": machine(4, 4)}

    for scale, free, for_one in (("1x1", 40, False), ("2x1", 30, True), ("2x2", 1, True)):
        found = device_memory_of(make_case(device="cuda", scale=scale), Engine())
        assert (found.free_bytes, found.for_one) == (free * GIB, for_one), scale
        # What workers on other machines hold cannot be seen from here.
        device["GetComputeRunningProcesses"] = [process(os.getpid(), 70 * GIB)]
        assert found.excess([os.getpid()], GIB, free_before=0) == ""
