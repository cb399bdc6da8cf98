"""What mbench needs to know of Keras on each backend without importing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.plugins.hooks import hookimpl
from mbench.sdk.plugin import NO_TF32_ON_CPU, AdapterBase, Lack
from mbench_keras.tiers import tiers

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["KerasJax", "KerasTensorFlow", "KerasTorch", "mbench_adapters"]

KERAS = "3.15.1"


class Keras(AdapterBase):
    """What is alike on all backends; a version is Keras' own."""

    backend: str
    """By Keras' own name."""
    pins: Sequence[str]
    """Of the backend."""

    models = "mbench_keras.models"
    devices = ("cpu",)
    tuned_by: Sequence[str] = ("KERAS_",)
    lacks: Sequence[Lack] = (
        NO_TF32_ON_CPU,
        Lack("Keras' adapter has fp32 and fp64 so far",
             precisions=("bf16", "amp-bf16", "fp16", "amp-fp16")),
        Lack("Keras quantises by its own recipe, Model.quantize, and takes no integers",
             precisions=("int8",)),
    )  # fmt: skip

    def requirements(self, version: str | None, accelerator: str) -> Sequence[str]:
        version = KERAS if version is None else version
        if not version.startswith("3.15."):
            raise ValueError(f"Keras {version} is not supported: 3.15 is")
        return (f"keras=={version}", *self.pins)

    def python(self, version: str | None) -> str:
        return ">=3.11,<3.14"

    def variables(self, *, threads: int, device: str) -> dict[str, str]:
        return {"KERAS_BACKEND": self.backend}


JAX = {"jit": "jax.jit: the whole step compiled by XLA, as Keras chooses"}
TORCH = {
    "eager": "operations run one by one, as Keras chooses",
    "inductor": "jit_compile=True: the step by torch.compile",
}
TENSORFLOW = {
    "graph": "tf.function: the step as one graph, as Keras chooses on CPUs",
    "xla": "jit_compile=True: the step compiled by XLA",
}


class KerasJax(Keras):
    """The Adapter of Keras on JAX."""

    name = "keras-jax"
    title = "Keras on JAX"
    backend = "jax"
    imports = ("keras", "jax", "jaxlib")
    runtime = "mbench_keras.on_jax:Runtime"
    pins = ("jax==0.10.2", "jaxlib==0.10.2")
    compilers = JAX
    tiers = tiers("jit", "jit")
    tuned_by = ("KERAS_", "JAX_", "XLA_")

    def variables(self, *, threads: int, device: str) -> dict[str, str]:
        own = {"JAX_PLATFORMS": "cpu", "PJRT_NPROC": str(threads)}
        return {**super().variables(threads=threads, device=device), **own}


class KerasTorch(Keras):
    """The Adapter of Keras on PyTorch."""

    name = "keras-torch"
    title = "Keras on PyTorch"
    backend = "torch"
    imports = ("keras", "torch")
    runtime = "mbench_keras.on_torch:Runtime"
    pins = ("torch==2.13.0",)
    compilers = TORCH
    tiers = tiers("eager", "inductor")
    tuned_by = ("KERAS_", "ATEN_", "PYTORCH_", "TORCH")


class KerasTensorFlow(Keras):
    """The Adapter of Keras on TensorFlow."""

    name = "keras-tensorflow"
    title = "Keras on TensorFlow"
    backend = "tensorflow"
    imports = ("keras", "tensorflow")
    runtime = "mbench_keras.on_tensorflow:Runtime"
    pins = ("tensorflow-cpu==2.21.0",)
    compilers = TENSORFLOW
    tiers = tiers("graph", "xla")
    tuned_by = ("KERAS_", "TF_CPU_", "TF_DISABLE_", "TF_ENABLE_", "TF_NUM_", "TF_XLA_", "XLA_")

    def variables(self, *, threads: int, device: str) -> dict[str, str]:
        own = {"TF_CPP_MIN_LOG_LEVEL": "3"}
        return {**super().variables(threads=threads, device=device), **own}


@hookimpl
def mbench_adapters() -> list[Keras]:
    return [KerasJax(), KerasTorch(), KerasTensorFlow()]
