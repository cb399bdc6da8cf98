"""JAX is limited to its share of a GPU's memory by its own means; the GPU is made up."""

from __future__ import annotations

import os

import jax

from mbench.sdk import runtime
from mbench.sdk.cuda import CudaDevice
from mbench_jax.runtime import Runtime

GIB = 2**30
GPU = CudaDevice(
    name="NVIDIA Made-Up 100", address="0000:3b:00.0", capability=(9, 0), memory_bytes=80 * GIB,
    driver="13.0",
)  # fmt: skip


def test_its_allocator_may_take_its_share(monkeypatch):
    monkeypatch.setattr(runtime, "cuda_device", lambda: GPU)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setenv("XLA_CLIENT_MEM_FRACTION", "1")
    monkeypatch.delenv("XLA_CLIENT_MEM_FRACTION")
    Runtime(device="cuda", threads=1)
    assert "XLA_CLIENT_MEM_FRACTION" not in os.environ
    Runtime(device="cuda", threads=1, device_memory_bytes=20 * GIB)
    assert float(os.environ["XLA_CLIENT_MEM_FRACTION"]) == 0.25
    monkeypatch.setenv("XLA_CLIENT_MEM_FRACTION", "0.1")
    Runtime(device="cuda", threads=1, device_memory_bytes=20 * GIB)
    assert os.environ["XLA_CLIENT_MEM_FRACTION"] == "0.1", "what the user set stays"
