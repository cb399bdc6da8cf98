"""What the libraries of a framework tell of one step of a small ResNet-18, in this Python."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import pytest
from cases import make_case

from mbench.environments.environment import Environment
from mbench.explain.observe import observe

__all__ = ["CONVOLUTIONS", "count", "evidence", "x86_only"]

CONVOLUTIONS = 20
"""Of ResNet-18. Its first one has no gradient of inputs."""

x86_only = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="frameworks use these libraries on x86 processors"
)


def evidence(adapter, *, folder, **changes):
    here = Environment(
        label=adapter.name, python=Path(sys.executable), python_version=platform.python_version(),
        managed=False, digest=None, packages={},
    )  # fmt: skip
    usual = {"model": "resnet18", "workload": "mbench.workloads.resnet:MODELS", "batch_size": 2,
             "sizes": {"image_size": 32}, "threads": 2}  # fmt: skip
    case = make_case(**{**usual, **changes})
    found = observe(adapter, here, case, log=folder / "worker.log", timeout=600.0)
    assert found.unread == 0, "every call could be read"
    return found


def count(found, primitive, *, propagation=""):
    return sum(
        kernel.count
        for kernel in found.kernels
        if kernel.primitive == primitive and kernel.propagation.startswith(propagation)
    )
