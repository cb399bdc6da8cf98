"""The description of TensorFlow, which must be right without TensorFlow."""

from __future__ import annotations

import pytest

from mbench_tensorflow.plugin import TensorFlow


@pytest.mark.parametrize(
    ("accelerator", "distribution"), [("cpu", "tensorflow-cpu"), ("cuda", "tensorflow[and-cuda]")]
)
def test_requirements_follow_the_accelerator(accelerator, distribution):
    assert TensorFlow().requirements(None, accelerator) == (f"{distribution}==2.21.0",)
    assert TensorFlow().requirements("2.20.0", accelerator) == (f"{distribution}==2.20.0",)


def test_environment_chooses_keras_backend():
    assert TensorFlow().variables(threads=3, device="cpu")["KERAS_BACKEND"] == "tensorflow"


def test_on_cuda_memory_grows_with_what_is_used():
    name = "TF_FORCE_GPU_ALLOW_GROWTH"
    assert TensorFlow().variables(threads=1, device="cuda")[name] == "true"
    assert name not in TensorFlow().variables(threads=1, device="cpu")
