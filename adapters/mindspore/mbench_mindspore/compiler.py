"""The ways in which MindSpore runs a step: how it is compiled and waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindspore as ms

from mbench.sdk.compiler import Compiler

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[..., Any]


__all__ = ["COMPILERS", "Pynative"]


class Pynative(Compiler):
    """Operations run one by one; they are only enqueued, on CPU too."""

    def synchronize(self) -> None:
        ms.runtime.synchronize()


class Graph(Pynative):
    """mindspore.jit: compiled once, for a batch whose values are not constants."""

    differences = ("the whole step is one graph of mindspore.jit, the update included",)

    def compile(self, function: Function) -> Function:
        return ms.jit(function)


COMPILERS: dict[str, type[Pynative]] = {"pynative": Pynative, "graph": Graph}
