"""Functions that paddle.jit.to_static has compiled as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddle.jit.sot.opcode_translator.executor.executor_cache import OpcodeExecutorCache
from paddle.jit.sot.symbolic.compile_cache import CompileSIRCache
from paddle.jit.sot.utils import min_graph_size_guard

from mbench.sdk.checks import require

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import paddle

    Tensors = Mapping[str, paddle.Tensor]

    Function = Callable[..., Any]


__all__ = ["OneGraph"]


class OneGraph:
    """A compiled function; its first call raises Unsupported unless it is one graph.

    Code that cannot be traced breaks the graph. Such code, and small graphs next to it, silently
    fall back to dygraph: the function would be compiled in name only.
    """

    def __init__(self, compiled: Function) -> None:
        # Within a process, PaddlePaddle spends at most 40 s translating the code of one function,
        # over all cases, and then silently runs it uncompiled.
        OpcodeExecutorCache().clear()
        self._compiled = compiled
        self._run = self._first

    def __call__(self, batch: Tensors) -> object:
        return self._run(batch)

    def _first(self, batch: Tensors) -> object:
        graphs, frames = CompileSIRCache().cache, OpcodeExecutorCache()
        before, translated = len(graphs), frames.translate_count
        with min_graph_size_guard(0):
            result = self._compiled(batch)
        made = len(graphs) - before
        require(made == 1, f"to_static makes {made} graphs of this, not one")
        parts = frames.translate_count - translated
        require(parts == 1, f"to_static breaks this into {parts} functions")
        self._run = self._compiled
        return result
