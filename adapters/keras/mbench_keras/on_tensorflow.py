"""Keras on TensorFlow."""

from __future__ import annotations

import tensorflow as tf

from mbench_keras.plugin import KerasTensorFlow
from mbench_keras.runtime import Auto, Jit, KerasRuntime

__all__ = ["Runtime"]

COMPILERS = {"graph": Auto, "xla": Jit}


class Runtime(KerasRuntime):
    """On CPU a call returns when its work is done."""

    adapter = KerasTensorFlow()
    compilers = COMPILERS
    distributions = ("tensorflow", "tensorflow-cpu", "numpy")
    threads_used = staticmethod(tf.config.threading.get_intra_op_parallelism_threads)

    def set_up(self) -> None:
        super().set_up()
        # Kernels compute in the first pool; the second dispatches them.
        tf.config.threading.set_intra_op_parallelism_threads(self.threads)
        tf.config.threading.set_inter_op_parallelism_threads(self.threads)
