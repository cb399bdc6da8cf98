"""The levels at which ONNX Runtime optimizes a graph when its session is created."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnxruntime

from mbench.sdk.compiler import Compiler

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

__all__ = ["COMPILERS", "Level"]

Levels = onnxruntime.GraphOptimizationLevel


class Level(Compiler):
    """A session at one level. A run is done when the call returns."""

    level = Levels.ORT_ENABLE_BASIC
    differences = (
        "weights are constants of the graph; batch norm is folded into the convolution before it",
    )

    def session(
        self, graph: bytes, weights: Mapping[str, np.ndarray], *, threads: int
    ) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = self.level
        # Without VNNI, sums of products of 8-bit integers saturate at 16 bits by default.
        options.add_session_config_entry("session.x64quantprecision", "1")
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in weights.values()]
        options.add_external_initializers(list(weights), values)
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


class Extended(Level):
    level = Levels.ORT_ENABLE_EXTENDED


class All(Level):
    level = Levels.ORT_ENABLE_ALL


COMPILERS: dict[str, type[Level]] = {"basic": Level, "extended": Extended, "all": All}
