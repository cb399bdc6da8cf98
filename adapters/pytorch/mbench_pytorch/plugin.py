"""What mbench needs to know of PyTorch without importing it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mbench.plugins.hooks import hookimpl
from mbench.sdk.plugin import NO_TF32_ON_CPU, AdapterBase, Lack
from mbench_pytorch.tiers import TIERS

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PyTorch", "mbench_adapters"]

TORCH = "2.13.0"
TORCHVISION = "0.28.0"
TRANSFORMERS = "5.23.0"
OLDEST_MINOR = 6  # of 2.x: what this version of transformers supports

COMPILERS = {
    "eager": "operations run one by one, as PyTorch does by default",
    "inductor": "torch.compile: forward, loss and backward as fused kernels",
    "max-autotune": "torch.compile in mode max-autotune, which tries several kernels",
    "freezing": "torch.compile with weights as constants and batch norm folded: for inference",
    "xla": "PyTorch/XLA: steps are traced and compiled whole; needs torch_xla",
}


class PyTorch(AdapterBase):
    """The Adapter of PyTorch, with models of torchvision and transformers, among others."""

    name = "torch"
    title = "PyTorch"
    imports = ("torch", "torchvision", "transformers")
    runtime = "mbench_pytorch.runtime:Runtime"
    quantized = "mbench_pytorch.quantized:Benchmark"
    models = "mbench_pytorch.models"
    compilers = COMPILERS
    tiers = TIERS
    parallel = "DistributedDataParallel"
    accumulates = True
    feeds = ("files",)
    checkpoints = ("bert", "dit", "gpt2", "llama", "moe", "vit")
    caches = ("llama", "moe")
    switches = ("xla",)
    tuned_by = ("ATEN_", "PYTORCH_", "THP_MEM_ALLOC_ENABLE", "TORCH", "XLA_")
    lacks = (
        NO_TF32_ON_CPU,
        Lack("PyTorch has no fast float16 on CPU: use amp-bf16", ("cpu",), ("amp-fp16",)),
        Lack("PyTorch has no fast float16 on CPU: use bf16", ("cpu",), ("fp16",)),
        Lack("inductor freezes weights for inference: use inductor",
             compilers=("freezing",), modes=("train",)),
        Lack("inductor packs frozen weights by oneDNN, which has no float64: use inductor",
             ("cpu",), ("fp64",), ("freezing",)),
        Lack("PyTorch's dynamically quantised layers run one by one here: use eager",
             precisions=("int8",), compilers=("inductor", "max-autotune", "freezing", "xla")),
        Lack("PyTorch/XLA has no CUDA since its release 2.8", ("cuda",), compilers=("xla",)),
        Lack("PyTorch/XLA trains on several devices by means of its own, which are not supported",
             compilers=("xla",), parallel=True),
        Lack("PyTorch's collectives run by themselves, not as parts of a graph: use eager",
             compilers=("inductor", "max-autotune", "freezing", "xla"),
             families=("collectives",)),
        Lack("torch.compile takes no LSTM: use eager",
             compilers=("inductor", "max-autotune", "freezing"), families=("lstm",)),
    )  # fmt: skip

    def requirements(self, version: str | None, accelerator: str) -> Sequence[str]:
        """The same for "cpu" and "cuda": the package index decides which build pip finds.

        torchvision 0.(x + 15) belongs to torch 2.x. Raises ValueError for a version that does not
        work with this adapter's pins.
        """
        transformers = f"transformers=={TRANSFORMERS}"
        if version is None or version == TORCH:
            return (f"torch=={TORCH}", f"torchvision=={TORCHVISION}", transformers)
        match = re.match(r"2\.(\d+)(?![^.+])", version)
        if match is None or int(match[1]) < OLDEST_MINOR:
            raise ValueError(
                f"torch {version} is not supported: use 2.{OLDEST_MINOR} or a newer 2.x"
            )
        return (f"torch=={version}", f"torchvision==0.{int(match[1]) + 15}.*", transformers)

    def python(self, version: str | None) -> str:
        return ">=3.11"  # transformers asks for 3.11, torch for 3.10

    def variables(self, *, threads: int, device: str) -> dict[str, str]:
        return {
            "PJRT_DEVICE": device.upper(),  # read by torch_xla only
            "HF_HUB_OFFLINE": "1",  # models are built from their configuration
            "TRANSFORMERS_VERBOSITY": "error",
        }


@hookimpl
def mbench_adapters() -> list[PyTorch]:
    return [PyTorch()]
