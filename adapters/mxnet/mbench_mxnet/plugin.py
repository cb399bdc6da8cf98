"""What mbench needs to know of MXNet without importing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.plugins.hooks import hookimpl
from mbench.sdk.plugin import AdapterBase, Lack
from mbench_mxnet.libraries import CUDA
from mbench_mxnet.tiers import TIERS

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MXNet", "mbench_adapters"]

MXNET = "1.9.1"
NUMPY = "1.23.5"  # the last version with the type aliases that MXNet imports

COMPILERS = {
    "hybrid": "Gluon's hybridize with static memory and shapes, as its documentation advises",
    "onednn": "hybrid, with oneDNN fusing operations into convolutions: for inference on CPU",
    "eager": "operations run one by one",
}


class MXNet(AdapterBase):
    """The Adapter of MXNet, with models in Gluon."""

    name = "mxnet"
    title = "MXNet"
    imports = ("mxnet",)
    runtime = "mbench_mxnet.runtime:Runtime"
    models = "mbench_mxnet.models"
    compilers = COMPILERS
    tiers = TIERS
    feeds = ("files",)
    parallel = "distributed KVStore"
    accumulates = True
    unchecked = (
        "MXNet cannot checkpoint chosen layers: with MXNET_BACKWARD_DO_MIRROR it decides what the "
        "backward pass recomputes"
    )
    ended = "MXNet's development ended in 2022"
    caches = ("llama",)
    tuned_by = ("MXNET_",)
    lacks = (
        Lack(
            "MXNet quantises by its own recipe, from calibration, and takes no integers",
            precisions=("int8",),
        ),
        Lack("MXNet has no switch for TensorFloat-32", precisions=("tf32",)),
        Lack("MXNet lacks bfloat16 for most operations: use amp-bf16", precisions=("bf16",)),
        Lack(
            "MXNet has no float16 matrix products on CPU: use amp-bf16",
            devices=("cpu",),
            precisions=("amp-fp16", "fp16"),
        ),
        Lack("MXNet has bfloat16 on CPU only: use amp-fp16", ("cuda",), ("amp-bf16",)),
        Lack(
            "MXNet's LSTM has no bfloat16: use fp32", precisions=("amp-bf16",), families=("lstm",)
        ),
        Lack("oneDNN's fusion is for CPU: use hybrid", ("cuda",), compilers=("onednn",)),
        Lack(
            "oneDNN's fusion is for inference: use hybrid", compilers=("onednn",), modes=("train",)
        ),
        Lack(
            "oneDNN's fusion does not go with amp-bf16: use hybrid", (), ("amp-bf16",), ("onednn",)
        ),
        Lack(
            "MXNet's KVStore is no part of a graph: use eager",
            compilers=("hybrid", "onednn"),
            families=("collectives",),
        ),
    )

    def requirements(self, version: str | None, accelerator: str) -> Sequence[str]:
        """One distribution for each accelerator. The one for CUDA is built for CUDA 11.2, and does
        not bring CUDA's libraries.
        """
        others = (f"numpy=={NUMPY}",)
        if accelerator == "cuda":
            return (f"mxnet-cu112=={version or MXNET}", *others, *CUDA.values())
        return (f"mxnet=={version or MXNET}", *others)

    def python(self, version: str | None) -> str:
        return ">=3.10,<3.12"  # MXNet imports distutils; a worker needs 3.10

    def variables(self, *, threads: int, device: str) -> dict[str, str]:
        if device == "cuda":
            return {"NVIDIA_TF32_OVERRIDE": "0"}  # cuDNN's TensorFloat-32 is on by default
        return {}


@hookimpl
def mbench_adapters() -> list[MXNet]:
    return [MXNet()]
