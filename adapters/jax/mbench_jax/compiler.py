"""The ways in which JAX runs a step: eagerly, or compiled as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax

from mbench.sdk.compiler import Compiler

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[..., Any]


__all__ = ["COMPILERS", "Eager"]


class Eager(Compiler):
    """Operations run one by one. They are only enqueued, on CPU too, and run in order."""

    _enqueued: Any = ()

    def compile(self, function: Function, *, donate: tuple[int, ...] = ()) -> Function:
        return self.waited_for(function)

    def waited_for(self, function: Function) -> Function:
        """`function`, whose results `synchronize` waits for."""

        def enqueue(*arguments: Any) -> Any:
            self._enqueued = function(*arguments)
            return self._enqueued

        return enqueue

    def synchronize(self) -> None:
        jax.block_until_ready(self._enqueued)

    def peak_memory_bytes(self) -> int | None:
        if self.device == "cuda":
            return int(jax.local_devices()[0].memory_stats()["peak_bytes_in_use"])
        return super().peak_memory_bytes()


class Jit(Eager):
    """jax.jit: traced once, compiled by XLA."""

    differences = ("the whole step is one jitted function, the update included",)

    def compile(self, function: Function, *, donate: tuple[int, ...] = ()) -> Function:
        return self.waited_for(jax.jit(function, donate_argnums=donate))


COMPILERS: dict[str, type[Eager]] = {"jit": Jit, "eager": Eager}
