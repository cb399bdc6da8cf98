"""Keras on PyTorch; on CPU a call returns when its work is done."""

from __future__ import annotations

import torch

from mbench_keras.plugin import TORCH
from mbench_keras.runtime import KerasRuntime

__all__ = ["Runtime"]


class Runtime(KerasRuntime):
    adapter = TORCH
    set_threads = staticmethod(torch.set_num_threads)
    threads_used = staticmethod(torch.get_num_threads)
