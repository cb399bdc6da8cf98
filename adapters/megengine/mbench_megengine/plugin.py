"""What mbench needs to know of MegEngine without importing it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mbench.plugins.hooks import hookimpl
from mbench.sdk.plugin import NO_TF32_ON_CPU, AdapterBase, Lack
from mbench_megengine.tiers import TIERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["MegEngine", "mbench_adapters"]

MEGENGINE = "1.13.0"
BESIDE = ("numpy==1.24.4", "setuptools==75.3.2")
"""The newest versions for Python 3.8. MegEngine does not support NumPy 2, and imports
pkg_resources, which newer setuptools do not have.
"""

COMPILERS = {
    "eager": "operations run one by one, as MegEngine does by default",
    "trace": "megengine.jit.trace(symbolic=True): the whole step, the update included, as a graph",
}


class MegEngine(AdapterBase):
    """The Adapter of MegEngine, with models built from megengine.module's layers."""

    name = "megengine"
    title = "MegEngine"
    imports = ("megengine",)
    runtime = "mbench_megengine.runtime:Runtime"
    models = "mbench_megengine.models"
    compilers = COMPILERS
    tiers = TIERS
    tuned_by = ("MEGENGINE_", "MGB_")
    lacks = (
        Lack("MegEngine's wheels are for CUDA 10.1, which today's GPUs are newer than",
             devices=("cuda",)),
        NO_TF32_ON_CPU,
        Lack("MegEngine has no float64: use fp32", precisions=("fp64",)),
        Lack("MegEngine mixes precisions on GPUs: use fp32", precisions=("amp-bf16", "amp-fp16")),
        Lack("MegEngine has no fast float16 and bfloat16 on CPU: use fp32",
             precisions=("bf16", "fp16")),
    )  # fmt: skip

    def requirements(self, version: str | None, accelerator: str) -> Sequence[str]:
        version = MEGENGINE if version is None else version
        if not re.match(r"1\.13\.\d+$", version):
            raise ValueError(f"MegEngine {version} is not supported: use 1.13")
        return (f"megengine=={version}", *BESIDE)

    def python(self, version: str | None) -> str:
        return ">=3.8,<3.11"

    def variables(self, *, threads: int, device: str) -> Mapping[str, str]:
        # Otherwise each start creates a file with choices of kernels in the home folder.
        return {"MGE_FASTRUN_CACHE_TYPE": "MEMORY"}


@hookimpl
def mbench_adapters() -> list[MegEngine]:
    return [MegEngine()]
