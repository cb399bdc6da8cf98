"""The ways in which MegEngine runs a step: operation by operation, or as a graph that it traced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import megengine as mge
from megengine import jit

from mbench.sdk.compiler import Compiler

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["COMPILERS", "Eager"]


class Eager(Compiler):
    """Operations run one by one. They are only enqueued, on the CPU too."""

    unlike = 0
    """How many of the first calls differ from later ones."""

    def synchronize(self) -> None:
        mge._full_sync()  # as the documentation of megengine.device asks for


class Trace(Eager):
    """megengine.jit.trace, whose first call builds the graph and whose second compiles it.

    Each call runs the function's Python again, which checks the graph and passes it the tensors
    that it reads. So a batch and loaded parameters are never constants. Compiling restarts the
    random numbers, so dropout drops the same elements in the first two calls. Shapes are traced as
    constants, since a case's shapes do not change.
    """

    unlike = 2
    differences = (
        "the whole step is one graph of megengine.jit.trace, the update included; its Python runs "
        "at each step",
    )

    def compile(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return jit.trace(function, symbolic=True, symbolic_shape=False)


COMPILERS: dict[str, type[Eager]] = {"eager": Eager, "trace": Trace}
