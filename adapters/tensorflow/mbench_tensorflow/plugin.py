"""What mbench needs to know of TensorFlow without importing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.plugins.hooks import hookimpl
from mbench.sdk.plugin import NO_TF32_ON_CPU, AdapterBase, Lack
from mbench_tensorflow.tiers import TIERS

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["TensorFlow", "mbench_adapters"]

TENSORFLOW = "2.21.0"

COMPILERS = {
    "graph": "tf.function: the whole step as one graph, as TensorFlow's guides advise",
    "xla": "tf.function with jit_compile: the whole step compiled by XLA",
    "eager": "operations run one by one",
}


class TensorFlow(AdapterBase):
    """The Adapter of TensorFlow, with models in Keras."""

    name = "tf"
    title = "TensorFlow"
    imports = ("tensorflow", "keras")
    runtime = "mbench_tensorflow.runtime:Runtime"
    models = "mbench_tensorflow.models"
    compilers = COMPILERS
    tiers = TIERS
    parallel = "MultiWorkerMirroredStrategy"
    accumulates = True
    feeds = ("files",)
    checkpoints = ("dit", "llama", "moe", "vit")
    caches = ("llama", "moe")
    switches = ("xla",)
    tuned_by = ("KERAS_", "TF_CPU_", "TF_CUDNN_", "TF_DETERMINISTIC_", "TF_DISABLE_", "TF_ENABLE_",
                "TF_FORCE_", "TF_GPU_", "TF_NUM_", "TF_ONEDNN_", "TF_XLA_", "XLA_")  # fmt: skip
    lacks = (
        Lack("TensorFlow quantises by its own recipe, in TensorFlow Lite's converter, and takes no "
             "integers",
             precisions=("int8",)),
        Lack("XLA compiles no sizes that depend on which experts tokens choose: use graph",
             compilers=("xla",), families=("moe",)),
        NO_TF32_ON_CPU,
        Lack("TensorFlow has no fast float16 on CPU: use amp-bf16", ("cpu",), ("amp-fp16",)),
        Lack("TensorFlow has no fast float16 on CPU: use bf16", ("cpu",), ("fp16",)),
        Lack("XLA has no exchange between processes in TensorFlow on CPUs: use graph",
             compilers=("xla",), families=("collectives",)),
    )  # fmt: skip

    def requirements(self, version: str | None, accelerator: str) -> Sequence[str]:
        """One distribution for each accelerator; Keras comes with it."""
        distribution = "tensorflow[and-cuda]" if accelerator == "cuda" else "tensorflow-cpu"
        return (f"{distribution}=={version or TENSORFLOW}",)

    def python(self, version: str | None) -> str:
        return ">=3.10,<3.14"

    def variables(self, *, threads: int, device: str) -> dict[str, str]:
        found = {"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}
        if device == "cuda":
            # Otherwise TensorFlow would take all the memory it may use at once. If memory is
            # limited, set_memory_growth is ignored, but this variable is not.
            found["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"
        return found


@hookimpl
def mbench_adapters() -> list[TensorFlow]:
    return [TensorFlow()]
