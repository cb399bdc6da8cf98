"""What mbench needs to know of TensorFlow without importing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.adapter import SUPPORTED, Support, covers
from mbench.hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.adapter import Adapter
    from mbench.contract.case import Case

__all__ = ["TensorFlow", "mbench_adapters"]

TENSORFLOW = "2.21.0"

COMPILERS = {
    "graph": "tf.function: the whole step as one graph, as TensorFlow's guides advise",
    "xla": "tf.function with jit_compile: the whole step compiled by XLA",
    "eager": "operations run one by one",
}
CUDA_ONLY = {
    "tf32": "TensorFloat-32 is arithmetic of CUDA devices",
    "amp-fp16": "TensorFlow has no fast float16 on CPU: use amp-bf16",
    "fp16": "TensorFlow has no fast float16 on CPU: use bf16",
}


class TensorFlow:
    """The Adapter of TensorFlow, with models in Keras."""

    name = "tf"
    title = "TensorFlow"
    imports = ("tensorflow", "keras")
    runtime = "mbench_tensorflow.runtime:Runtime"
    compilers = COMPILERS
    variables = ("KERAS_", "TF_CPU_", "TF_CUDNN_", "TF_DETERMINISTIC_", "TF_DISABLE_", "TF_ENABLE_",
                 "TF_FORCE_", "TF_GPU_", "TF_NUM_", "TF_ONEDNN_", "TF_XLA_", "XLA_")  # fmt: skip

    def requirements(self, version: str | None, accelerator: str) -> Sequence[str]:
        """One distribution for each accelerator; Keras comes with it."""
        distribution = "tensorflow[and-cuda]" if accelerator == "cuda" else "tensorflow-cpu"
        return (f"{distribution}=={version or TENSORFLOW}",)

    def python(self, version: str | None) -> str:
        return ">=3.10,<3.14"

    def environment(self, *, threads: int, device: str) -> dict[str, str]:
        return {
            "KERAS_BACKEND": "tensorflow",
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "TF_ENABLE_ONEDNN_OPTS": "1",
        }

    def supports(self, case: Case) -> Support:
        known = covers(self, case, models="mbench_tensorflow.models")
        if not known.supported:
            return known
        if case.device == "cpu" and case.precision in CUDA_ONLY:
            return Support.no(CUDA_ONLY[case.precision])
        return SUPPORTED


@hookimpl
def mbench_adapters() -> list[Adapter]:
    return [TensorFlow()]
