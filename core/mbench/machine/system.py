"""Describes the machine, as far as it matters for numbers measured on it."""

from __future__ import annotations

import os
import platform
import socket
from pathlib import Path

import psutil

from mbench.machine import cores
from mbench.machine.devices import kinds
from mbench.machine.kernel import HUGE_PAGES, read
from mbench.machine.records import System

__all__ = ["cpu_model", "describe_system"]

CPUINFO = Path("/proc/cpuinfo")
KINDS = {"cpu family": "family", "model": "model"}
SETS = {"avx2": "AVX2", "avx_vnni": "AVX-VNNI", "avx512f": "AVX-512", "avx512_vnni": "AVX512-VNNI",
        "avx512_bf16": "AVX512-BF16", "amx_tile": "AMX", "asimd": "NEON", "sve": "SVE"}  # fmt: skip
"""The kernel's flags, and the manufacturers' names for these instruction sets."""


def describe_system(variables: dict[str, str]) -> System:
    """Hardware, kernel, the load before the run began, and `variables` that workers inherit."""
    frequency, threads = psutil.cpu_freq(), cores.default_threads()
    return System(
        hostname=socket.gethostname(),
        os=platform.platform(),
        python=platform.python_version(),
        cpu=cpu_model(),
        physical_cores=psutil.cpu_count(logical=False),
        logical_cores=psutil.cpu_count(),
        usable_cores=cores.usable_cores(),
        default_threads=threads.count,
        threads_because=threads.because,
        governor=read(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        current_mhz=frequency.current if frequency else None,
        transparent_huge_pages=read(HUGE_PAGES),
        memory_bytes=psutil.virtual_memory().total,
        load_average=list(os.getloadavg()),
        gpus=[dict(one.facts()) for kind in kinds().values() for one in kind.all()],
        variables=variables,
    )


def cpu_model(path: Path = CPUINFO) -> str:
    """The processor's name, family, model, and the instruction sets by which frameworks choose
    kernels: different processors of cloud machines may share a name.
    """
    first = (read(path) or "").partition("\n\n")[0].splitlines()
    fields = {
        name.strip(): value.strip() for name, _, value in (line.partition(":") for line in first)
    }
    title = fields.get("model name") or platform.processor() or platform.machine()
    flags = (fields.get("flags") or fields.get("Features") or "").split()
    words = [f"{word} {fields[name]}" for name, word in KINDS.items() if name in fields]
    return ", ".join([title, *words, *(name for flag, name in SETS.items() if flag in flags)])
