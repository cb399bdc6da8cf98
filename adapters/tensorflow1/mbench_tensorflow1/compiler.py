"""The ways in which TensorFlow 1 runs a graph: by its own kernels, or compiled by XLA."""

from __future__ import annotations

import tensorflow as tf

from mbench.sdk.compiler import Compiler

__all__ = ["COMPILERS", "Graph"]


class Graph(Compiler):
    """Grappler and TensorFlow's executor. On CPU a run returns when its work is done."""

    differences = ("the whole step is one run of a graph, the update included",)
    jit_level = tf.OptimizerOptions.OFF

    def session(self, graph: tf.Graph, threads: int) -> tf.Session:
        """Kernels run in the first pool, and the second dispatches them. With a single thread in
        the second, operations would wait for one another. By default, both have as many threads as
        there are cores.
        """
        config = tf.ConfigProto(
            intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads
        )
        config.graph_options.optimizer_options.global_jit_level = self.jit_level
        return tf.Session(graph=graph, config=config)


class Xla(Graph):
    """XLA compiles what it can of the graph, in clusters; TensorFlow's kernels run the rest."""

    differences = ("the whole step is one run of a graph, clusters of which XLA compiles",)
    jit_level = tf.OptimizerOptions.ON_1


COMPILERS = {"graph": Graph, "xla": Xla}
