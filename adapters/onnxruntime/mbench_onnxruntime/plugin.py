"""What mbench needs to know of ONNX Runtime without importing it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mbench.contract.tier import tier_of
from mbench.plugins.hooks import hookimpl
from mbench.sdk.plugin import NO_TF32_ON_CPU, AdapterBase, Lack
from mbench_onnxruntime.tiers import TIERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.case import Case
    from mbench.contract.workload import Workload

__all__ = ["OnnxRuntime", "mbench_adapters"]

ONNXRUNTIME, ONNX = "1.32.0", "1.23.2"
OLDEST_MINOR = 27  # of 1.x

COMPILERS = {
    "basic": "graph optimizations that keep ONNX's operators: constants, batch norm folded",
    "extended": "basic, plus fused operators specific to the CPU",
    "all": "extended, plus memory layouts that suit the CPU: ONNX Runtime's default",
}

WITHOUT_FLOAT64 = (
    "alexnet", "bert", "densenet", "dit", "mnasnet", "mobilenet", "resnet", "squeezenet", "vgg",
    "vit",
)  # fmt: skip


class OnnxRuntime(AdapterBase):
    """The Adapter of ONNX Runtime: inference on CPUs, by graphs that are built here."""

    name = "onnxruntime"
    title = "ONNX Runtime"
    imports = ("onnxruntime", "onnx")
    runtime = "mbench_onnxruntime.runtime:Runtime"
    quantized = "mbench_onnxruntime.quantized:Benchmark"
    models = "mbench_onnxruntime.models"
    compilers = COMPILERS
    tiers = TIERS
    caches = ("llama", "moe")
    tuned_by = ("ORT_",)
    lacks = (
        Lack("this adapter of ONNX Runtime infers only: train in another framework",
             modes=("train",)),
        Lack("this adapter of ONNX Runtime computes on CPUs only", ("cuda",)),
        NO_TF32_ON_CPU,
        Lack("ONNX Runtime's convolutions, Erf and Gelu have no float64 on CPU",
             precisions=("fp64",), families=WITHOUT_FLOAT64),
        Lack("ONNX Runtime has no mixed precision: use fp32",
             precisions=("amp-bf16", "amp-fp16")),
        Lack("ONNX Runtime has no fast half precision on CPU: use fp32",
             precisions=("bf16", "fp16")),
    )  # fmt: skip

    def refusal(self, case: Case, workload: Workload) -> str:
        from mbench.scenarios.find import scenario_of

        tier = tier_of(self, case.tier)
        bound = tier is not None and tier.settings.get("io") == "bound"
        if bound and case.precision == "fp64" and scenario_of(case, workload).caches:
            return "ONNX Runtime's GroupQueryAttention has no float64 on CPU: use --tier default"
        return super().refusal(case, workload)

    def requirements(self, version: str | None, accelerator: str) -> Sequence[str]:
        version = ONNXRUNTIME if version is None else version
        match = re.match(r"1\.(\d+)\.\d+$", version)
        if match is None or int(match[1]) < OLDEST_MINOR:
            raise ValueError(f"ONNX Runtime {version} is not supported: use 1.27 or a newer 1.x")
        return (f"onnxruntime=={version}", f"onnx=={ONNX}")

    def python(self, version: str | None) -> str:
        return ">=3.11"


@hookimpl
def mbench_adapters() -> list[OnnxRuntime]:
    return [OnnxRuntime()]
