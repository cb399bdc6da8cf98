"""TensorFlow is limited to its share of a GPU's memory by its own means; the GPU is made up."""

from __future__ import annotations

import tensorflow as tf

from mbench_tensorflow.compiler import Eager
from mbench_tensorflow.runtime import Runtime

GIB = 2**30
GPU = tf.config.PhysicalDevice(name="/physical_device:GPU:0", device_type="GPU")


def test_its_allocator_may_take_its_share(monkeypatch):
    limits = []
    config = tf.config
    monkeypatch.setattr(tf.test, "is_built_with_cuda", lambda: True)
    monkeypatch.setattr(config, "list_physical_devices", lambda kind: [GPU])
    monkeypatch.setattr(config, "set_visible_devices", lambda devices, kind: None)
    monkeypatch.setattr(config, "set_logical_device_configuration", lambda *a: limits.append(a))
    monkeypatch.setattr(config.threading, "set_intra_op_parallelism_threads", lambda count: None)
    monkeypatch.setattr(config.threading, "set_inter_op_parallelism_threads", lambda count: None)
    Runtime(device="cuda", threads=1, device_memory_bytes=20 * GIB)
    Runtime(device="cuda", threads=1)
    ((gpu, (limit,)),) = limits
    assert (gpu, limit.memory_limit) == (GPU, 20 * 1024)


def test_its_peak_begins_anew_on_a_gpu_only(monkeypatch):
    begun = []
    monkeypatch.setattr(tf.config.experimental, "reset_memory_stats", begun.append)
    assert Eager("cuda").begin_peak()
    assert begun == ["GPU:0"]
    assert not Eager("cpu").begin_peak()
