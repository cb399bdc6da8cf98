"""What mbench needs to know of Keras on each backend without importing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.tier import DEFAULT, TUNED, Tier
from mbench.plugins.hooks import hookimpl
from mbench.sdk.plugin import NO_TF32_ON_CPU, AdapterBase, Lack

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["JAX", "TENSORFLOW", "TORCH", "mbench_adapters"]

KERAS = "3.15.1"
STEP = "the step of Model.fit, with jit_compile="
GUIDE = 'Keras Developer guides, "Training & evaluation with the built-in methods"'
COMPILE = 'Keras API, "Model training APIs", on jit_compile of Model.compile'


class Keras(AdapterBase):
    """The Adapter of Keras on a `backend`, as Keras names it; versions are Keras' own."""

    models = "mbench_keras.models"
    devices = ("cpu",)
    lacks = (
        NO_TF32_ON_CPU,
        Lack("Keras' adapter has fp32 and fp64 so far",
             precisions=("bf16", "amp-bf16", "fp16", "amp-fp16")),
        Lack("Keras quantises by its own recipe, Model.quantize, and takes no integers",
             precisions=("int8",)),
    )  # fmt: skip

    def __init__(
        self, backend: str, title: str, *, pins: Sequence[str], compilers: Mapping[str, str],
        tuned_by: Sequence[str], needed: Mapping[str, str],
    ) -> None:  # fmt: skip
        """`compilers`: Keras' choice, then jit_compile=True; `needed`: environment variables."""
        self.backend, self.pins, self.needed = backend, pins, needed
        self.name, self.title = f"keras-{backend}", f"Keras on {title}"
        self.imports = ("keras", backend)
        self.runtime = f"mbench_keras.on_{backend}:Runtime"
        self.compilers = compilers
        self.tuned_by = ("KERAS_", *tuned_by)
        plain, *_, compiled = (*compilers, *compilers)
        self.tiers = {
            DEFAULT: Tier(says=f'{STEP}"auto"', source=GUIDE, compilers=(plain,)),
            TUNED: Tier(says=f"{STEP}True", source=COMPILE, compilers=(compiled,)),
        }

    def requirements(self, version: str | None, accelerator: str) -> Sequence[str]:
        version = KERAS if version is None else version
        if not version.startswith("3.15."):
            raise ValueError(f"Keras {version} is not supported: use 3.15")
        return (f"keras=={version}", *self.pins)

    def python(self, version: str | None) -> str:
        return ">=3.11,<3.14"

    def variables(self, *, threads: int, device: str) -> Mapping[str, str]:
        own = {name: value.format(threads=threads) for name, value in self.needed.items()}
        return {"KERAS_BACKEND": self.backend, **own}


JAX = Keras(
    "jax", "JAX", pins=("jax==0.10.2", "jaxlib==0.10.2"), tuned_by=("JAX_", "XLA_"),
    compilers={"jit": "jax.jit: the whole step compiled by XLA, as Keras chooses"},
    needed={"JAX_PLATFORMS": "cpu", "PJRT_NPROC": "{threads}"},
)  # fmt: skip
TORCH = Keras(
    "torch", "PyTorch", pins=("torch==2.13.0",), tuned_by=("ATEN_", "PYTORCH_", "TORCH"),
    compilers={
        "eager": "operations run one by one, as Keras chooses",
        "inductor": "jit_compile=True: the step compiled by torch.compile",
    },
    needed={},
)  # fmt: skip
TENSORFLOW = Keras(
    "tensorflow", "TensorFlow", pins=("tensorflow-cpu==2.21.0",),
    tuned_by=("TF_CPU_", "TF_DISABLE_", "TF_ENABLE_", "TF_NUM_", "TF_XLA_", "XLA_"),
    compilers={
        "graph": "tf.function: the step as one graph, as Keras chooses on CPUs",
        "xla": "jit_compile=True: the step compiled by XLA",
    },
    needed={"TF_CPP_MIN_LOG_LEVEL": "3"},
)  # fmt: skip


@hookimpl
def mbench_adapters() -> list[Keras]:
    return [JAX, TORCH, TENSORFLOW]
