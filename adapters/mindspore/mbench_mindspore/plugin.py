"""What mbench needs to know of MindSpore without importing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.plugins.hooks import hookimpl
from mbench.sdk.plugin import NO_TF32_ON_CPU, AdapterBase, Lack
from mbench_mindspore.tiers import TIERS

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MindSpore", "mbench_adapters"]

MINDSPORE = "2.10.0"
NUMPY = "1.26.4"  # MindSpore 2.10 warns that it cannot set up its own use of NumPy 2

COMPILERS = {
    "pynative": "operations run one by one, as MindSpore does by default",
    "graph": "mindspore.jit: the whole step, the update included, as one static graph",
}
ISA = "AVX2"
"""The newest instruction set that oneDNN may use; see `variables`."""


class MindSpore(AdapterBase):
    """The Adapter of MindSpore, with models built from mindspore.nn's layers."""

    name = "mindspore"
    title = "MindSpore"
    imports = ("mindspore",)
    runtime = "mbench_mindspore.runtime:Runtime"
    models = "mbench_mindspore.models"
    compilers = COMPILERS
    tiers = TIERS
    tuned_by = ("DNNL_", "GLOG_", "MS_ALLOC_", "MS_DEV_", "MS_ENABLE_", "ONEDNN_")
    lacks = (
        Lack("MindSpore's distribution on the package index is for CPUs", ("cuda",)),
        NO_TF32_ON_CPU,
        Lack("MindSpore multiplies no bfloat16 on CPU", ("cpu",), ("bf16", "amp-bf16")),
        Lack("MindSpore has no fast float16 on CPU", ("cpu",), ("fp16", "amp-fp16")),
    )

    def requirements(self, version: str | None, accelerator: str) -> Sequence[str]:
        version = MINDSPORE if version is None else version
        if not version.startswith("2.10."):
            raise ValueError(f"MindSpore {version} is not supported: use 2.10")
        return (f"mindspore=={version}", f"numpy=={NUMPY}")

    def python(self, version: str | None) -> str:
        return ">=3.10,<3.13"

    def variables(self, *, threads: int, device: str) -> dict[str, str]:
        return {
            # With AVX-512, oneDNN 3.10 uses its reference implementation for convolutions in
            # MindSpore's layouts, which is about thirty times slower.
            "ONEDNN_MAX_CPU_ISA": ISA,
            "GLOG_v": "3",
        }


@hookimpl
def mbench_adapters() -> list[MindSpore]:
    return [MindSpore()]
