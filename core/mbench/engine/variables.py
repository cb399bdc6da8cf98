"""Environment variables of workers: those that mbench sets, and those that come from outside."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from mbench.errors import PluginFailed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mbench.contract.adapter import Adapter

__all__ = ["inherited", "thread_variables"]

COMMON = ("BLIS_", "CUBLAS_", "CUDA_", "CUDNN_", "DNNL_", "GLIBC_TUNABLES", "GOMP_", "KMP_",
          "LD_LIBRARY_PATH", "LD_PRELOAD", "MALLOC_", "MKL_", "NVIDIA_TF32_OVERRIDE",
          "NVIDIA_VISIBLE_DEVICES", "OMP_", "ONEDNN_", "OPENBLAS_", "TCMALLOC_")  # fmt: skip
"""Prefixes: of the math libraries, the allocators and the devices that frameworks share. None fits
a variable that holds a secret, such as NVIDIA_API_KEY: results are published."""


def thread_variables(threads: int) -> dict[str, str]:
    """The variables by which the usual math libraries are told their threads."""
    names = ("OMP", "MKL", "OPENBLAS", "NUMEXPR")
    return {f"{name}_NUM_THREADS": str(threads) for name in names}


def inherited(adapters: Iterable[Adapter], *, device: str) -> dict[str, str]:
    """The variables around mbench that tune what a worker of any of `adapters` does, by name.

    Workers have them from mbench, and figures may depend on them. What mbench sets by itself
    does not count: a worker does not see what stood there before.
    """
    found: dict[str, str] = {}
    for adapter in adapters:
        ours = thread_variables(1)
        with contextlib.suppress(PluginFailed):  # which ends its cases, once they start
            ours |= adapter.variables(threads=1, device=device)
        prefixes = (*COMMON, *adapter.tuned_by)
        found |= {
            name: value
            for name, value in os.environ.items()
            if name.startswith(prefixes) and name not in ours
        }
    return dict(sorted(found.items()))
