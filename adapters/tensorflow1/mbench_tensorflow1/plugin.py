"""What mbench needs to know of TensorFlow 1 without importing it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mbench.plugins.hooks import hookimpl
from mbench.sdk.plugin import NO_TF32_ON_CPU, AdapterBase, Lack
from mbench_tensorflow1.tiers import TIERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["TensorFlow1", "mbench_adapters"]

TENSORFLOW = "1.15.5"
BESIDE = ("numpy==1.18.5", "protobuf==3.20.3")
"""The newest versions that TensorFlow 1.15 runs with; its own requirements would allow others."""

COMPILERS = {
    "graph": "a graph of the whole step, optimised by Grappler and run by a session",
    "xla": "the same graph, with XLA compiling what it can: global_jit_level ON_1, on the CPU too",
}


class TensorFlow1(AdapterBase):
    """The Adapter of TensorFlow 1.15: graphs and sessions, optimizers of tf.train."""

    name = "tf1"
    title = "TensorFlow 1"
    imports = ("tensorflow", "tensorflow_core")
    runtime = "mbench_tensorflow1.runtime:Runtime"
    models = "mbench_tensorflow1.models"
    compilers = COMPILERS
    switches = ("xla",)
    tiers = TIERS
    tuned_by = ("TF_AUTO_", "TF_DISABLE_", "TF_ENABLE_", "TF_XLA_", "XLA_")
    lacks = (
        Lack("TensorFlow 1's wheels are for CUDA 10.0, which today's GPUs are newer than",
             devices=("cuda",)),
        NO_TF32_ON_CPU,
        Lack("TensorFlow 1 mixes precisions on GPUs only: use fp32",
             precisions=("amp-bf16", "amp-fp16")),
        Lack("TensorFlow 1 has no bfloat16 kernels for convolutions on CPU: use fp32",
             precisions=("bf16",)),
        Lack("TensorFlow 1 has no fast float16 on CPU: use fp32", precisions=("fp16",)),
    )  # fmt: skip

    def requirements(self, version: str | None, accelerator: str) -> Sequence[str]:
        version = TENSORFLOW if version is None else version
        if not re.match(r"1\.15\.\d+$", version):
            raise ValueError(f"TensorFlow 1 {version} is not supported: use 1.15")
        return (f"tensorflow=={version}", *BESIDE)

    def python(self, version: str | None) -> str:
        return ">=3.7,<3.8"

    def variables(self, *, threads: int, device: str) -> Mapping[str, str]:
        return {
            "TF_CPP_MIN_LOG_LEVEL": "2",
            # Has no effect unless a session's own options turn XLA on.
            "TF_XLA_FLAGS": "--tf_xla_cpu_global_jit",
        }


@hookimpl
def mbench_adapters() -> list[TensorFlow1]:
    return [TensorFlow1()]
