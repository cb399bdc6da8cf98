"""Several devices of one machine, looked at as one: those of a case's processes there."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mbench.contract.device import Accelerator
    from mbench.machine.sample import GpuSample

__all__ = ["Several"]

T = TypeVar("T")


class Several:
    """An Accelerator. It is the first of them by name, address and facts.

    Ranks wait for the slowest, so of clocks the lowest is told, of temperatures the highest; of
    memory, that of the one that has least left.
    """

    def __init__(self, devices: Sequence[Accelerator]) -> None:
        self.devices = devices

    @property
    def name(self) -> str:
        return self.devices[0].name

    @property
    def address(self) -> str:
        return self.devices[0].address

    @property
    def driver(self) -> str:
        return self.devices[0].driver

    @property
    def mode(self) -> str:
        """That of the first that is for one process, if there is one."""
        return next((one for one in self.devices if one.for_one), self.devices[0]).mode

    @property
    def for_one(self) -> bool:
        return any(one.for_one for one in self.devices)

    def sample(self, pids: Sequence[int] = ()) -> GpuSample:
        found = [one.sample(pids) for one in self.devices]

        def of(join: Callable[[Iterable[T]], T], read: Callable[[GpuSample], T | None]) -> T | None:
            """Of all that tell."""
            told = [value for one in found if (value := read(one)) is not None]
            return join(told) if told else None

        def whole(read: Callable[[GpuSample], float | None]) -> float | None:
            """A sum in which one is missing is none."""
            told = [read(one) for one in found]
            return None if None in told else sum(value for value in told if value is not None)

        return replace(
            found[0],
            utilization=of(min, lambda one: one.utilization),
            power_watts=whole(lambda one: one.power_watts),
            sm_mhz=of(min, lambda one: one.sm_mhz),
            memory_mhz=of(min, lambda one: one.memory_mhz),
            celsius=of(max, lambda one: one.celsius),
            slowed_by=of(lambda masks: reduce(or_, masks), lambda one: one.slowed_by),
            joules=whole(lambda one: one.joules),
            others=of(max, lambda one: one.others),
            held_bytes=of(max, lambda one: one.held_bytes),
        )

    def memory(self) -> tuple[int, int] | None:
        told = [found for one in self.devices if (found := one.memory()) is not None]
        return min(told, default=None)

    def held_bytes(self, pids: Sequence[int]) -> int | None:
        """What they hold of the one of which they hold most."""
        told = [held for one in self.devices if (held := one.held_bytes(pids)) is not None]
        return max(told, default=None)

    def facts(self) -> Mapping[str, str]:
        return self.devices[0].facts()
