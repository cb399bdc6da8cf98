"""What mbench needs to know of MXNet without importing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.adapter import SUPPORTED, Support, covers
from mbench.hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.adapter import Adapter
    from mbench.contract.case import Case

__all__ = ["MXNet", "mbench_adapters"]

MXNET = "1.9.1"
NUMPY = "1.23.5"  # the last one with the aliases of types that MXNet imports

COMPILERS = {
    "hybrid": "Gluon's hybridize with static memory and shapes, as its documentation advises",
    "onednn": "hybrid, and oneDNN fuses operations into convolutions: inference on CPU",
    "eager": "operations run one by one",
}
NOWHERE = {
    "tf32": "MXNet has no switch for TensorFloat-32",
    "bf16": "MXNet lacks bfloat16 for most operations: use amp-bf16",
}
CUDA_ONLY = {
    "amp-fp16": "MXNet has no float16 matrix products on CPU: use amp-bf16",
    "fp16": "MXNet has no float16 matrix products on CPU: use amp-bf16",
}
CPU_ONLY = {"amp-bf16": "MXNet has bfloat16 on CPU only: use amp-fp16"}


class MXNet:
    """The Adapter of MXNet, with models in Gluon."""

    name = "mxnet"
    title = "MXNet"
    imports = ("mxnet",)
    runtime = "mbench_mxnet.runtime:Runtime"
    compilers = COMPILERS
    variables = ("MXNET_",)

    def requirements(self, version: str | None, accelerator: str) -> Sequence[str]:
        """One distribution for each accelerator; the one with CUDA is built for its 11.2."""
        distribution = "mxnet-cu112" if accelerator == "cuda" else "mxnet"
        return (f"{distribution}=={version or MXNET}", f"numpy=={NUMPY}")

    def python(self, version: str | None) -> str:
        return ">=3.10,<3.12"  # it imports distutils; a worker needs 3.10

    def environment(self, *, threads: int, device: str) -> dict[str, str]:
        if device == "cuda":
            return {"NVIDIA_TF32_OVERRIDE": "0"}  # cuDNN's TensorFloat-32 is on unless told
        return {}

    def supports(self, case: Case) -> Support:
        known = covers(self, case, models="mbench_mxnet.models")
        if not known.supported:
            return known
        lacking = NOWHERE | (CUDA_ONLY if case.device == "cpu" else CPU_ONLY)
        if case.precision in lacking:
            return Support.no(lacking[case.precision])
        if case.precision == "amp-bf16" and case.resolve().family == "lstm":
            return Support.no("MXNet's LSTM has no bfloat16: use fp32")
        if case.compiler == "onednn":
            return without_onednn(case)
        return SUPPORTED


def without_onednn(case: Case) -> Support:
    """What oneDNN's fusion cannot do, or does slower than it goes without."""
    if case.device != "cpu":
        return Support.no("oneDNN's fusion is for CPU: use hybrid")
    if case.mode != "inference":
        return Support.no("oneDNN's fusion is for inference: use hybrid")
    if case.precision not in ("fp32", "fp64"):
        return Support.no(f"oneDNN's fusion does not go with {case.precision}: use hybrid")
    return SUPPORTED


@hookimpl
def mbench_adapters() -> list[Adapter]:
    return [MXNet()]
