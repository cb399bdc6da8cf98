"""What mbench needs to know of JAX without importing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.plugins.hooks import hookimpl
from mbench.sdk.plugin import NO_TF32_ON_CPU, AdapterBase, Lack
from mbench_jax.tiers import TIERS

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Jax", "mbench_adapters"]

JAX, OPTAX = "0.10.2", "0.2.8"
INPUTS = ("grain==0.2.18", "pillow==13.0.0")
"""For images from files, which JAX itself does not read."""

COMPILERS = {
    "jit": "jax.jit: the whole step compiled by XLA, as JAX's documentation advises",
    "eager": "operations run one by one, each of them compiled by XLA",
}


class Jax(AdapterBase):
    """The Adapter of JAX, with models in plain JAX and optimizers of Optax."""

    name = "jax"
    title = "JAX"
    imports = ("jax", "jaxlib", "optax")
    runtime = "mbench_jax.runtime:Runtime"
    models = "mbench_jax.models"
    compilers = COMPILERS
    tiers = TIERS
    feeds = ("files",)
    parallel = "jax.distributed and shard_map"
    accumulates = True
    checkpoints = ("bert", "dit", "gpt2", "llama", "moe", "vit")
    caches = ("llama", "moe")
    tuned_by = ("JAX_", "XLA_")
    lacks = (
        Lack("JAX has no quantised layers: libraries beside it bring recipes of their own",
             precisions=("int8",)),
        NO_TF32_ON_CPU,
        Lack("JAX has no fast float16 on CPU: use bf16", ("cpu",), ("fp16",)),
        Lack("JAX scales no loss by itself: use amp-bf16", (), ("amp-fp16",)),
        Lack("JAX exchanges gradients within a jitted step: use jit",
             compilers=("eager",), parallel=True),
    )  # fmt: skip

    def requirements(self, version: str | None, accelerator: str) -> Sequence[str]:
        version = JAX if version is None else version
        if not version.startswith("0.10."):
            raise ValueError(f"JAX {version} is not supported: use 0.10")
        distribution = "jax[cuda12]" if accelerator == "cuda" else "jax"
        return (f"{distribution}=={version}", f"jaxlib=={version}", f"optax=={OPTAX}", *INPUTS)

    def python(self, version: str | None) -> str:
        return ">=3.11"

    def variables(self, *, threads: int, device: str) -> dict[str, str]:
        return {
            "JAX_PLATFORMS": "cuda,cpu" if device == "cuda" else "cpu",
            "PJRT_NPROC": str(threads),
            # Otherwise JAX takes most of the device's memory and leaves little for other workers.
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        }

    def mixed(self, device: str) -> str:
        return "amp-bf16"


@hookimpl
def mbench_adapters() -> list[Jax]:
    return [Jax()]
