"""What mbench needs to know of PaddlePaddle without importing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.adapter import SUPPORTED, Support, covers
from mbench.contract.case import is_mixed
from mbench.hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.adapter import Adapter
    from mbench.contract.case import Case

__all__ = ["PaddlePaddle", "mbench_adapters"]

PADDLE = "3.3.1"
NUMPY = "2.2.6"  # of the newest series that runs on all of PaddlePaddle's Python versions
SETUPTOOLS = "80.9.0"  # paddle imports it, but asks for it on Python 3.12 and newer only

COMPILERS = {
    "eager": "dygraph: operations run one by one, as PaddlePaddle does by default",
    "static": "paddle.jit.to_static: forward, loss and backward as one static graph",
    "cinn": "paddle.jit.to_static with the compiler CINN; needs a build that has it",
    "engine": "paddle.inference: a saved model in the inference engine, with oneDNN on CPU",
}
CUDA_ONLY = {
    "tf32": "TensorFloat-32 is arithmetic of CUDA devices",
    "amp-bf16": "PaddlePaddle's AMP does nothing on CPU: use bf16 with engine, for inference",
    "amp-fp16": "PaddlePaddle's AMP does nothing on CPU: use bf16 with engine, for inference",
    "fp16": "PaddlePaddle has no float16 on CPU: use bf16 with engine, for inference",
}
HALVES = ("amp-bf16", "amp-fp16", "bf16", "fp16")


class PaddlePaddle:
    """The Adapter of PaddlePaddle, with paddle.vision's models where they are the reference's."""

    name = "paddle"
    title = "PaddlePaddle"
    imports = ("paddle",)
    runtime = "mbench_paddle.runtime:Runtime"
    compilers = COMPILERS
    variables = ("CPU_NUM", "FLAGS_")

    def requirements(self, version: str | None, accelerator: str) -> Sequence[str]:
        """One distribution for each accelerator.

        paddlepaddle-gpu comes from PaddlePaddle's own index, which pip has to be told of.
        """
        distribution = "paddlepaddle-gpu" if accelerator == "cuda" else "paddlepaddle"
        return (
            f"{distribution}=={version or PADDLE}",
            f"numpy=={NUMPY}",
            f"setuptools=={SETUPTOOLS}",
        )

    def python(self, version: str | None) -> str:
        return ">=3.10,<3.14"

    def environment(self, *, threads: int, device: str) -> dict[str, str]:
        return {"GLOG_minloglevel": "2"}

    def supports(self, case: Case) -> Support:
        known = covers(self, case, models="mbench_paddle.models")
        if not known.supported:
            return known
        if case.compiler == "engine" and case.mode == "train":
            return Support.no("PaddlePaddle's inference engine does not train: use eager or static")
        if case.device == "cpu" and case.precision in CUDA_ONLY:
            return Support.no(CUDA_ONLY[case.precision])
        if case.device == "cpu" and case.precision == "bf16" and case.compiler != "engine":
            return Support.no("PaddlePaddle has bfloat16 on CPU in its inference engine only")
        if case.resolve().family == "lstm" and case.precision in HALVES:
            return Support.no("PaddlePaddle's LSTM has kernels in float32 and float64 only")
        if case.compiler == "engine" and is_mixed(case.precision):
            half = case.precision.removeprefix("amp-")
            return Support.no(f"PaddlePaddle's inference engine has no autocast: use {half}")
        return SUPPORTED


@hookimpl
def mbench_adapters() -> list[Adapter]:
    return [PaddlePaddle()]
