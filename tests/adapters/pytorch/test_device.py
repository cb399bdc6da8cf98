"""PyTorch is limited to its share of a GPU's memory by its own means; the GPU is made up."""

from __future__ import annotations

import torch

from mbench.sdk import runtime
from mbench.sdk.cuda import CudaDevice
from mbench_pytorch.compiler import Eager
from mbench_pytorch.runtime import Runtime

GIB = 2**30
GPU = CudaDevice(
    name="NVIDIA Made-Up 100", address="0000:3b:00.0", capability=(9, 0), memory_bytes=80 * GIB,
    driver="13.0",
)  # fmt: skip


def test_its_allocator_may_take_its_share(monkeypatch):
    taken = []
    monkeypatch.setattr(runtime, "cuda_device", lambda: GPU)
    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", taken.append)
    Runtime(device="cuda", threads=1, device_memory_bytes=20 * GIB)
    Runtime(device="cuda", threads=1)
    assert taken == [0.25]


def test_its_peak_begins_anew_on_a_gpu_only(monkeypatch):
    begun = []
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", begun.append)
    assert Eager("cuda").begin_peak()
    assert begun == [torch.device("cuda")]
    assert not Eager("cpu").begin_peak()
