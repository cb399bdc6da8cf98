"""Calls of collectives that are started on the caller's memory, and then waited for.

Shapes: E elements of a rank, R ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from mbench.contract.compat import Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mbench.workloads.operators.collectives import Collective

__all__ = ["Exchange", "Transfers", "Work"]

Array = TypeVar("Array")


class Work(Protocol):
    """A call in progress."""

    def wait(self) -> object: ...


class Transfers:
    """Several calls in progress, to be waited for together."""

    def __init__(self, works: Iterable[Work]) -> None:
        self.works = list(works)

    def wait(self) -> None:
        for work in self.works:
            work.wait()


class Exchange(Generic[Array]):
    """A number of calls, each with its own memory for what it receives."""

    def __init__(
        self,
        kind: Collective,
        begin: Callable[[Array, Array], Work],
        *,
        rank: int,
        empty: Callable[[Array], Array],
        product: Callable[[Array, Array], Array],
        multiply: Callable[[Array, Array], Array],
    ) -> None:
        """`begin` takes what a rank sends and where to put what it receives, which is the same
        memory for in-place calls; `empty` allocates such memory, of the type of what is sent.
        `product` multiplies matrices, `multiply` element by element.
        """
        self.kind = kind
        self.begin = begin
        self.empty = empty
        self.first = product if kind.kind.startswith("matmul_") else None
        self.meanwhile = {"overlap_mul": multiply, "overlap_matmul": product}.get(kind.kind)
        self.gets = kind.kind != "reduce" or rank == 0
        self.memory: dict[int, Array] = {}

    def __call__(self, batch: Mapping[str, Array]) -> dict[str, Array]:
        """What this rank receives in each call, "output.0", and computes meanwhile, "product.0"."""
        found = {}
        for call in range(self.kind.calls):
            if self.first is None:
                x = batch[f"x.{call}"]
            else:
                x = self.first(batch[f"a.{call}"], batch[f"b.{call}"])
            # Nobody else uses a product yet, so it can be summed in place.
            into = x if self.kind.kind == "matmul_all_reduce" else self.memory_of(call, x)
            work = self.begin(x, into)
            if self.meanwhile is not None:
                found[f"product.{call}"] = self.meanwhile(batch[f"a.{call}"], batch[f"b.{call}"])
            work.wait()
            if self.gets:
                found[f"output.{call}"] = into
        return found

    def memory_of(self, call: int, x: Array) -> Array:
        if call not in self.memory:
            self.memory[call] = self.empty(x)
        return self.memory[call]
