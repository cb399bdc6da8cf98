"""The ways in which PyTorch runs a step: where, and how it is compiled and waited for."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from mbench.sdk.checks import require
from mbench.sdk.compiler import Compiler

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[..., Any]


__all__ = ["COMPILERS", "Eager"]


class Eager(Compiler):
    """Operations run one by one; on CUDA they are only enqueued."""

    layouts = True
    """Whether tensors keep the memory layout they are given."""
    compiles = False
    """Whether torch.compile compiles steps."""

    def __init__(self, device: str) -> None:
        self.device = torch.device(device)

    def without_gradients(self, function: Function) -> Function:
        return torch.inference_mode()(function)

    def flush(self) -> None:
        """Launch a step; there is nothing to do if operations launch by themselves."""

    def refresh(self) -> None:
        """Called after parameters were loaded."""
        self.flush()

    def synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def peak_memory_bytes(self) -> int | None:
        if self.device.type == "cuda":
            return torch.cuda.max_memory_allocated(self.device)
        return super().peak_memory_bytes()

    def begin_peak(self) -> bool:
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self.device)
            return True
        return super().begin_peak()


class Inductor(Eager):
    """torch.compile in its default mode; the optimizer's kernels stay as they are."""

    differences = ("torch.compile is in its default mode and compiles no optimizer",)
    compiles = True
    mode: str | None = None
    freezes = False

    def __init__(self, device: str) -> None:
        super().__init__(device)
        from torch._inductor import config  # slow to import

        config.freezing = self.freezes  # process-wide: tracing looks for it there
        if self.device.type == "cuda":
            require(find_spec("triton"), "inductor needs triton on CUDA: install triton")
            # At run time, triton uses it to build the code that launches its kernels.
            named = os.environ.get("CC")
            found = shutil.which(named) if named else shutil.which("gcc") or shutil.which("clang")
            mend = f"install {named or 'gcc or clang'}, or name yours in CC"
            require(found, f"inductor needs a C compiler on CUDA: {mend}")
        else:
            compiler = os.environ.get("CXX", "clang++" if sys.platform == "darwin" else "g++")
            mend = f"install {compiler}, or name yours in CXX"
            require(shutil.which(compiler), f"inductor needs a C++ compiler: {mend}")
        header = Path(sysconfig.get_path("include"), "Python.h")
        require(header.is_file(), "inductor needs Python.h: install Python's development headers")

    def compile(self, function: Function) -> Function:
        # One graph or an error: a part left to eager would be compiled in name only.
        return torch.compile(function, fullgraph=True, mode=self.mode)


class MaxAutotune(Inductor):
    """torch.compile in the mode that tries several kernels for each matrix product."""

    differences = ("torch.compile is in its mode max-autotune and compiles no optimizer",)
    mode = "max-autotune"


class Freezing(Inductor):
    """torch.compile with weights as constants, for inference."""

    differences = (
        "inductor freezes the weights, so that batch norm is folded into convolutions; loading "
        "parameters compiles anew",
    )
    freezes = True

    def refresh(self) -> None:
        torch.compiler.reset()


class Xla(Eager):
    """PyTorch/XLA: operations are recorded, and compiled and launched together by `flush`."""

    differences = (
        "PyTorch/XLA traces every step anew and looks the graph up",
        "XLA chooses its own threads among the cores that the process may use",
    )
    layouts = False  # XLA chooses layouts itself

    def __init__(self, device: str) -> None:
        require(find_spec("torch_xla"), "torch_xla is not installed in this environment")
        import torch_xla
        from torch_xla.core import xla_model

        self._sync = torch_xla.sync
        self._wait = xla_model.wait_device_ops
        self.device = torch_xla.device()
        kind = xla_model.xla_device_hw(self.device)
        expected = device.upper()
        require(kind == expected, f"torch_xla runs on {kind} here, not on {expected}")

    def without_gradients(self, function: Function) -> Function:
        return torch.no_grad()(function)

    def flush(self) -> None:
        self._sync()

    def synchronize(self) -> None:
        self._sync()
        self._wait()


COMPILERS: dict[str, type[Eager]] = {
    "eager": Eager, "inductor": Inductor, "max-autotune": MaxAutotune, "freezing": Freezing,
    "xla": Xla,
}  # fmt: skip
