"""What workers may take of a device, and who is said to take more."""

from __future__ import annotations

import os

import pytest
from fake_nvml import FakeGpu, FakeNvml, process

from mbench.engine import room
from mbench.engine.room import CONTEXT_BYTES, DeviceRoom, allocator_bytes, room_on
from mbench.telemetry import nvml

GIB = 2**30


@pytest.fixture
def device(monkeypatch):
    """Of 80 GiB, 70 of which are free; gives its answers, to be changed."""
    gpu = FakeGpu()
    monkeypatch.setattr(nvml, "begun", lambda: FakeNvml(gpu))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return gpu.answers


def test_what_is_free_is_shared_out_and_a_tenth_kept(device):
    found = room_on("cuda")
    assert found.free_bytes == 70 * GIB
    assert found.limit_bytes(None, workers=1) == pytest.approx(63 * GIB)
    assert found.limit_bytes(None, workers=4) == pytest.approx(63 * GIB / 4)
    assert found.limit_bytes(2 * GIB, workers=4) == 2 * GIB
    assert found.limit_bytes(200 * GIB, workers=4) == pytest.approx(63 * GIB / 4)


def test_the_cpu_has_none_and_nor_has_a_gpu_that_does_not_tell(device):
    assert room_on("cpu") is None
    del device["GetMemoryInfo"]
    assert room_on("cuda") is None


def test_the_driver_takes_its_part_of_a_share():
    assert allocator_bytes(4 * GIB) == 4 * GIB - CONTEXT_BYTES
    assert allocator_bytes(1) == room.LEAST_BYTES


def test_a_worker_is_judged_by_what_it_and_its_children_hold(device):
    found = room_on("cuda")
    device["GetComputeRunningProcesses"] = [process(os.getpid(), 11 * GIB), process(1, 50 * GIB)]
    assert found.excess([os.getpid()], 10 * GIB, free_before=0) == ""
    said = found.excess([os.getpid()], 9 * GIB, free_before=0)
    assert said == "it held 11,264 MiB of the GPU's memory, and 9,216 MiB is its share"


def test_where_processes_are_hidden_what_has_been_taken_since_counts(device):
    found = room_on("cuda")
    assert found.excess([os.getpid()], 10 * GIB, free_before=found.free_now()) == ""
    assert "20,480 MiB" in found.excess([os.getpid()], 10 * GIB, free_before=90 * GIB)


def test_the_room_of_an_instance_is_its_own(monkeypatch):
    """A GPU that is divided tells the whole one's memory by its own handle."""
    whole, instance = FakeGpu(), FakeGpu()
    instance.answers["GetMemoryInfo"].free = 9 * GIB
    made = FakeNvml(whole)
    made.instances["MIG-1"] = whole
    made.parts["MIG-1"] = instance
    monkeypatch.setattr(nvml, "begun", lambda: made)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-1")
    found = room_on("cuda")
    assert isinstance(found, DeviceRoom)
    assert found.free_bytes == 9 * GIB
