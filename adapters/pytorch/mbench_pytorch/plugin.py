"""What mbench needs to know of PyTorch without importing it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mbench.contract.adapter import SUPPORTED, Support, covers
from mbench.hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.adapter import Adapter
    from mbench.contract.case import Case

__all__ = ["PyTorch", "mbench_adapters"]

TORCH = "2.13.0"
TORCHVISION = "0.28.0"
TRANSFORMERS = "5.23.0"
OLDEST_MINOR = 6  # of 2.x; what this transformers takes

COMPILERS = {
    "eager": "operations run one by one, as PyTorch does by default",
    "inductor": "torch.compile: forward, loss and backward as fused kernels",
    "xla": "PyTorch/XLA: steps are traced and compiled whole; needs torch_xla",
}
CUDA_ONLY = {
    "tf32": "TensorFloat-32 is arithmetic of CUDA devices",
    "amp-fp16": "PyTorch has no fast float16 on CPU: use amp-bf16",
    "fp16": "PyTorch has no fast float16 on CPU: use bf16",
}
XLA_PRECISIONS = ("fp32", "fp64", "amp-bf16", "bf16")


class PyTorch:
    """The Adapter of PyTorch, with torchvision's ResNet and transformers' BERT."""

    name = "torch"
    title = "PyTorch"
    imports = ("torch", "torchvision", "transformers")
    runtime = "mbench_pytorch.runtime:Runtime"
    compilers = COMPILERS
    variables = ("ATEN_", "PYTORCH_", "THP_MEM_ALLOC_ENABLE", "TORCH", "XLA_")

    def requirements(self, version: str | None, accelerator: str) -> Sequence[str]:
        """The same for "cpu" and "cuda": which build pip finds is for its index to say.

        torchvision counts beside torch: 0.(x + 15) belongs to 2.x. Raises ValueError for a
        version that this adapter's pins cannot go with.
        """
        transformers = f"transformers=={TRANSFORMERS}"
        if version is None or version == TORCH:
            return (f"torch=={TORCH}", f"torchvision=={TORCHVISION}", transformers)
        match = re.match(r"2\.(\d+)(?![^.+])", version)
        if match is None or int(match[1]) < OLDEST_MINOR:
            raise ValueError(
                f"torch {version} is not supported: 2.{OLDEST_MINOR} or a newer 2.x is"
            )
        return (f"torch=={version}", f"torchvision==0.{int(match[1]) + 15}.*", transformers)

    def python(self, version: str | None) -> str:
        return ">=3.11"  # transformers asks for 3.11, torch for 3.10

    def environment(self, *, threads: int, device: str) -> dict[str, str]:
        return {
            "PJRT_DEVICE": device.upper(),  # read by torch_xla only
            "HF_HUB_OFFLINE": "1",  # models are built from their configuration
            "TRANSFORMERS_VERBOSITY": "error",
        }

    def supports(self, case: Case) -> Support:
        known = covers(self, case, models="mbench_pytorch.models")
        if not known.supported:
            return known
        if case.device == "cpu" and case.precision in CUDA_ONLY:
            return Support.no(CUDA_ONLY[case.precision])
        if case.compiler == "xla" and case.device == "cuda":
            return Support.no("PyTorch/XLA has no CUDA since its release 2.8")
        if case.compiler == "xla" and case.precision not in XLA_PRECISIONS:
            return Support.no(f"PyTorch/XLA has no {case.precision} on CPU")
        return SUPPORTED


@hookimpl
def mbench_adapters() -> list[Adapter]:
    return [PyTorch()]
