"""Environment variables of workers: those that mbench sets, and those that come from outside."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mbench.contract.device import HOST
from mbench.contract.tier import tier_of
from mbench.machine.devices import kind

if TYPE_CHECKING:
    from collections.abc import Collection

    from mbench.contract.adapter import Adapter
    from mbench.contract.case import Case

__all__ = ["inherited", "of_worker", "thread_variables"]

COMMON = ("BLIS_", "CUBLAS_", "CUDA_", "CUDNN_", "DNNL_", "GLIBC_TUNABLES", "GOMP_", "KMP_",
          "LD_LIBRARY_PATH", "LD_PRELOAD", "MALLOC_", "MKL_", "NVIDIA_TF32_OVERRIDE",
          "NVIDIA_VISIBLE_DEVICES", "OMP_", "ONEDNN_", "OPENBLAS_", "TCMALLOC_")  # fmt: skip
"""Prefixes: of the math libraries, the allocators and the devices that frameworks share. None fits
a variable that holds a secret, such as NVIDIA_API_KEY: results are published."""


def thread_variables(threads: int) -> dict[str, str]:
    """The variables by which the usual math libraries are told their threads."""
    names = ("OMP", "MKL", "OPENBLAS", "NUMEXPR")
    return {f"{name}_NUM_THREADS": str(threads) for name in names}


def of_worker(adapter: Adapter, case: Case) -> dict[str, str]:
    """The variables that mbench sets for a worker: its threads, and of what the adapter and the
    tier ask for that which the user has not set.
    """
    tier = tier_of(adapter, case.tier)
    asked = {**adapter.variables(threads=case.threads, device=case.device)}
    asked |= tier.variables if tier else {}
    asked |= kind(case.device).variables() if case.device != HOST else {}
    left = {name: value for name, value in asked.items() if name not in os.environ}
    return {**left, **thread_variables(case.threads)}


def inherited(adapters: Collection[Adapter]) -> dict[str, str]:
    """The variables around mbench that tune what a worker of any of `adapters` does, by name.

    Workers have them from mbench, and figures may depend on them. Those of the threads do not
    count: a worker does not see what stood there before.
    """
    ours = thread_variables(1)
    named = {name for adapter in adapters for tier in adapter.tiers.values()
             for name in tier.variables}  # fmt: skip
    prefixes = (*COMMON, *(prefix for adapter in adapters for prefix in adapter.tuned_by))
    return {
        name: value
        for name, value in sorted(os.environ.items())
        if (name.startswith(prefixes) or name in named) and name not in ours
    }
