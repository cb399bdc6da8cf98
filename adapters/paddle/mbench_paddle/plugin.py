"""What mbench needs to know of PaddlePaddle without importing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.plugins.hooks import hookimpl
from mbench.sdk.plugin import NO_TF32_ON_CPU, AdapterBase, Lack
from mbench_paddle.tiers import TIERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.case import Case
    from mbench.contract.workload import Workload

__all__ = ["PaddlePaddle", "mbench_adapters"]

PADDLE = "3.3.1"
NUMPY = "2.2.6"  # of the newest series that runs on all of PaddlePaddle's Python versions
SETUPTOOLS = "80.9.0"  # paddle imports it, but requires it only on Python 3.12 and newer

COMPILERS = {
    "eager": "dygraph: operations run one by one, as PaddlePaddle does by default",
    "static": "paddle.jit.to_static: forward, loss and backward as one static graph",
    "cinn": "paddle.jit.to_static with the compiler CINN; needs a build that has it",
    "engine": "paddle.inference: a saved model in the inference engine, with oneDNN on CPU",
}
HALF = ("amp-bf16", "amp-fp16", "bf16", "fp16")


class PaddlePaddle(AdapterBase):
    """The Adapter of PaddlePaddle, with paddle.vision's models where they match the reference's."""

    name = "paddle"
    title = "PaddlePaddle"
    imports = ("paddle",)
    runtime = "mbench_paddle.runtime:Runtime"
    models = "mbench_paddle.models"
    compilers = COMPILERS
    tiers = TIERS
    feeds = ("files",)
    parallel = "paddle.DataParallel"
    accumulates = True
    checkpoints = ("bert", "dit", "gpt2", "llama", "moe", "vit")
    caches = ("llama", "moe")
    tuned_by = ("CPU_NUM", "FLAGS_")
    lacks = (
        Lack("PaddlePaddle quantises by its own recipe, in PaddleSlim, and takes no integers",
             precisions=("int8",)),
        Lack("PaddlePaddle's inference engine does not train: use eager or static",
             compilers=("engine",), modes=("train",)),
        NO_TF32_ON_CPU,
        Lack("PaddlePaddle's AMP does nothing on CPU: use bf16 with engine, for inference",
             ("cpu",), ("amp-bf16", "amp-fp16")),
        Lack("PaddlePaddle has no float16 on CPU: use bf16 with engine, for inference",
             ("cpu",), ("fp16",)),
        Lack("PaddlePaddle has bfloat16 on CPU in its inference engine only",
             ("cpu",), ("bf16",), ("eager", "static", "cinn")),
        Lack("PaddlePaddle's LSTM has kernels in float32 and float64 only",
             precisions=HALF, families=("lstm",)),
        Lack("PaddlePaddle's inference engine has no autocast: use bf16",
             precisions=("amp-bf16",), compilers=("engine",)),
        Lack("PaddlePaddle's inference engine has no autocast: use fp16",
             precisions=("amp-fp16",), compilers=("engine",)),
        Lack("PaddlePaddle's inference engine puts out wrong logits of Llama by oneDNN: use eager "
             "or static", ("cpu",), compilers=("engine",), families=("llama", "moe")),
        Lack("PaddlePaddle's collectives run by themselves, not as parts of a graph: use eager",
             compilers=("static", "cinn", "engine"), families=("collectives",)),
    )  # fmt: skip

    def refusal(self, case: Case, workload: Workload) -> str:
        if case.compiler == "engine" and case.mode in ("prefill", "decode"):
            return f"PaddlePaddle's inference engine has no {case.mode} here: use eager or static"
        if case.checkpoint and case.compiler != "eager":
            return "to_static breaks PaddlePaddle's recompute into many graphs: use eager"
        return super().refusal(case, workload)

    def requirements(self, version: str | None, accelerator: str) -> Sequence[str]:
        """One distribution for each accelerator; see `index_hint` for where to get CUDA's."""
        distribution = "paddlepaddle-gpu" if accelerator == "cuda" else "paddlepaddle"
        return (
            f"{distribution}=={version or PADDLE}",
            f"numpy=={NUMPY}",
            f"setuptools=={SETUPTOOLS}",
        )

    def index_hint(self, accelerator: str) -> str:
        if accelerator != "cuda":
            return ""
        return (
            "paddlepaddle-gpu is only in PaddlePaddle's own indexes, one per CUDA version: set "
            "PIP_EXTRA_INDEX_URL, or extra-index-url in pip.conf, to the address that "
            'PaddlePaddle\'s Installation Guide gives under "Install on Linux via PIP"'
        )

    def python(self, version: str | None) -> str:
        return ">=3.10,<3.14"

    def variables(self, *, threads: int, device: str) -> dict[str, str]:
        return {"GLOG_minloglevel": "2"}


@hookimpl
def mbench_adapters() -> list[PaddlePaddle]:
    return [PaddlePaddle()]
