"""MXNet reports nothing about its own allocator on a GPU, and cannot limit it."""

from __future__ import annotations

from mbench_mxnet.compiler import Eager


def test_its_peak_is_not_everybodys():
    gpu, cpu = Eager("cuda"), Eager("cpu")
    assert gpu.peak_memory_bytes() is None
    assert cpu.peak_memory_bytes() > 2**20
    assert not gpu.begin_peak()
