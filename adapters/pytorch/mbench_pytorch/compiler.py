"""The ways in which PyTorch runs a step: where it lies, how it is compiled and waited for."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from mbench.contract.adapter import Unsupported
from mbench.worker.limits import peak_resident_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["COMPILERS", "Eager"]


class Eager:
    """Operations run one by one; on CUDA they are only enqueued."""

    differences: Sequence[str] = ()
    layout = torch.channels_last
    """Of images and convolution weights; PyTorch's tuning guide advises it on CPU and CUDA."""

    def __init__(self, device: str) -> None:
        self.device = torch.device(device)

    def compile(self, function: Callable) -> Callable:
        return function

    def without_gradients(self, function: Callable) -> Callable:
        decorated: Callable = torch.inference_mode()(function)
        return decorated

    def flush(self) -> None:
        """Hand over a step; there is nothing to do where operations go out by themselves."""

    def synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def peak_memory_bytes(self) -> int:
        if self.device.type == "cuda":
            return torch.cuda.max_memory_allocated(self.device)
        return peak_resident_bytes()


class Inductor(Eager):
    """torch.compile in its default mode; the optimizer's fused kernel stays as it is."""

    differences = ("torch.compile is in its default mode and compiles no optimizer",)

    def __init__(self, device: str) -> None:
        super().__init__(device)
        if self.device.type == "cuda":
            if importlib.util.find_spec("triton") is None:
                raise Unsupported("inductor needs triton on CUDA: install triton")
            return
        compiler = os.environ.get("CXX", "clang++" if sys.platform == "darwin" else "g++")
        if shutil.which(compiler) is None:
            raise Unsupported(
                f"inductor needs a C++ compiler: install {compiler}, or name yours in CXX"
            )
        if not Path(sysconfig.get_path("include"), "Python.h").is_file():
            raise Unsupported("inductor needs Python.h: install Python's development headers")

    def compile(self, function: Callable) -> Callable:
        # One graph or an error: a part left to eager would be compiled in name only.
        compiled: Callable = torch.compile(function, fullgraph=True)
        return compiled


class Xla(Eager):
    """PyTorch/XLA: operations are recorded, and compiled and launched together by `flush`."""

    differences = (
        "PyTorch/XLA traces every step anew and looks the graph up",
        "XLA chooses its own threads among the cores that the process may use",
    )
    layout = torch.contiguous_format  # XLA lays tensors out itself

    def __init__(self, device: str) -> None:
        if importlib.util.find_spec("torch_xla") is None:
            raise Unsupported("torch_xla is not installed in this environment")
        import torch_xla
        from torch_xla.core import xla_model

        self._sync = torch_xla.sync
        self._wait = xla_model.wait_device_ops
        self.device = torch_xla.device()
        kind = xla_model.xla_device_hw(self.device)
        if kind != device.upper():
            raise Unsupported(f"torch_xla runs on {kind} here, not on {device.upper()}")

    def without_gradients(self, function: Callable) -> Callable:
        decorated: Callable = torch.no_grad()(function)
        return decorated

    def flush(self) -> None:
        self._sync()

    def synchronize(self) -> None:
        self._sync()
        self._wait()

    def peak_memory_bytes(self) -> int:
        return peak_resident_bytes()


COMPILERS: dict[str, type[Eager]] = {"eager": Eager, "inductor": Inductor, "xla": Xla}
