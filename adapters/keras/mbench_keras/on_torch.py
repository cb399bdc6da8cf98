"""Keras on PyTorch."""

from __future__ import annotations

import torch

from mbench_keras.plugin import KerasTorch
from mbench_keras.runtime import Auto, Jit, KerasRuntime

__all__ = ["Runtime"]

COMPILERS = {"eager": Auto, "inductor": Jit}


class Runtime(KerasRuntime):
    """On CPU a call returns when its work is done."""

    adapter = KerasTorch()
    compilers = COMPILERS
    distributions = ("torch", "numpy")
    threads_used = staticmethod(torch.get_num_threads)

    def set_up(self) -> None:
        super().set_up()
        torch.set_num_threads(self.threads)
