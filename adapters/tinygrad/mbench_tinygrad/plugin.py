"""What mbench needs to know of tinygrad without importing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.tier import DEFAULT, TUNED, Tier
from mbench.plugins.hooks import hookimpl
from mbench.sdk.plugin import NO_TF32_ON_CPU, AdapterBase, Lack, Need

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Tinygrad", "mbench_adapters"]

TIER = Tier(says="TinyJit", source='tinygrad documentation, "MNIST Tutorial"', compilers=("jit",))
TIERS = {DEFAULT: TIER, TUNED: TIER}
COMPILERS = {
    "eager": "every step is scheduled again, as fused kernels",
    "jit": "TinyJit: the kernels of a step are captured once and replayed",
}


class Tinygrad(AdapterBase):
    """The Adapter of tinygrad on CPUs, whose kernels are compiled by clang."""

    name = "tinygrad"
    title = "tinygrad"
    imports = ("tinygrad",)
    runtime = "mbench_tinygrad.runtime:Runtime"
    models = "mbench_tinygrad.models"
    devices = ("cpu",)
    compilers = COMPILERS
    tiers = TIERS
    tuned_by = ("BEAM", "NOOPT", "CACHELEVEL", "OPTIM_DTYPE", "FUSE_OPTIM", "DEFAULT_FLOAT",
                "DEV=", "JIT=", "TC=")  # fmt: skip
    needs = (Need(("clang",), "apt install clang"),)
    lacks = (
        NO_TF32_ON_CPU,
        Lack("clang compiles no bfloat16 for every CPU: use fp32", precisions=("bf16", "amp-bf16")),
        Lack("tinygrad has no fast float16 on CPUs: use fp32", precisions=("fp16", "amp-fp16")),
    )

    def requirements(self, version: str | None, accelerator: str) -> Sequence[str]:
        return (f"tinygrad=={version or '0.14.0'}", "numpy==2.2.6")

    def python(self, version: str | None) -> str:
        return ">=3.11"

    def variables(self, *, threads: int, device: str) -> Mapping[str, str]:
        return {"NUM_CPU_THREADS": str(threads), "DEV": "CPU"}


@hookimpl
def mbench_adapters() -> list[Tinygrad]:
    return [Tinygrad()]
