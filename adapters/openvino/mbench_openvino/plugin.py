"""What mbench needs to know of OpenVINO without importing it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mbench.plugins.hooks import hookimpl
from mbench.sdk.plugin import NO_TF32_ON_CPU, AdapterBase, Lack
from mbench_openvino.tiers import TIERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.case import Case
    from mbench.contract.workload import Workload

__all__ = ["OpenVino", "mbench_adapters"]

OPENVINO = "2026.4.1"
OLDEST_YEAR = 2025

COMPILERS = {"latency": "one request at a time on all threads: OpenVINO's default"}


class OpenVino(AdapterBase):
    """The Adapter of OpenVINO: inference on CPUs, by graphs that are built here."""

    name = "openvino"
    title = "OpenVINO"
    imports = ("openvino",)
    runtime = "mbench_openvino.runtime:Runtime"
    quantized = "mbench_openvino.quantized:Benchmark"
    models = "mbench_openvino.models"
    compilers = COMPILERS
    tiers = TIERS
    caches = ("llama", "moe")
    tuned_by = ("OPENVINO_", "TBB_")
    lacks = (
        Lack("OpenVINO infers only: train in another framework", modes=("train",)),
        Lack("this adapter of OpenVINO computes on CPUs only", ("cuda",)),
        NO_TF32_ON_CPU,
        Lack("OpenVINO computes float64 in single precision on CPU", precisions=("fp64",)),
        Lack("this adapter of OpenVINO has no float16: use bf16 or amp-bf16",
             precisions=("fp16", "amp-fp16")),
    )  # fmt: skip

    def refusal(self, case: Case, workload: Workload) -> str:
        from mbench.scenarios.find import scenario_of

        if "bf16" in case.precision and scenario_of(case, workload).caches:
            return "OpenVINO's attention with states gives NaN at times in bfloat16: use fp32"
        return super().refusal(case, workload)

    def requirements(self, version: str | None, accelerator: str) -> Sequence[str]:
        version = OPENVINO if version is None else version
        match = re.match(r"(20\d\d)\.\d+\.\d+$", version)
        if match is None or int(match[1]) < OLDEST_YEAR:
            raise ValueError(f"OpenVINO {version} is not supported: use {OLDEST_YEAR}.0 or newer")
        return (f"openvino=={version}",)


@hookimpl
def mbench_adapters() -> list[OpenVino]:
    return [OpenVino()]
