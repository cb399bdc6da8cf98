"""Keras on TensorFlow; on CPU a call returns when its work is done."""

from __future__ import annotations

from tensorflow.config import threading

from mbench_keras.plugin import TENSORFLOW
from mbench_keras.runtime import KerasRuntime

__all__ = ["Runtime"]


class Runtime(KerasRuntime):
    adapter = TENSORFLOW
    threads_used = staticmethod(threading.get_intra_op_parallelism_threads)

    @staticmethod
    def set_threads(threads: int) -> None:
        # Kernels compute in the first pool; the second dispatches them.
        threading.set_intra_op_parallelism_threads(threads)
        threading.set_inter_op_parallelism_threads(threads)
