"""PaddlePaddle is limited to its share of a GPU's memory by its own means; the GPU is made up."""

from __future__ import annotations

import os

import paddle

from mbench_paddle.compiler import Eager
from mbench_paddle.runtime import Runtime

GIB = 2**30


def test_its_allocator_may_take_its_share(monkeypatch):
    flags, devices = [], []
    monkeypatch.setattr(paddle, "is_compiled_with_cuda", lambda: True)
    monkeypatch.setattr(paddle.device.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(paddle, "set_flags", flags.append)
    monkeypatch.setattr(paddle, "set_device", devices.append)
    threads = int(os.environ["OMP_NUM_THREADS"])
    Runtime(device="cuda", threads=threads, device_memory_bytes=20 * GIB)
    Runtime(device="cuda", threads=threads)
    assert flags == [{"FLAGS_gpu_memory_limit_mb": 20 * 1024}]
    assert devices == ["gpu:0"] * 2


def test_its_peak_begins_anew_on_a_gpu_only(monkeypatch):
    begun = []
    monkeypatch.setattr(
        paddle.device.cuda, "reset_max_memory_allocated", lambda: begun.append("anew")
    )
    assert Eager("cuda").begin_peak()
    assert begun == ["anew"]
    assert not Eager("cpu").begin_peak()
