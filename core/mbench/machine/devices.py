"""The kinds of device that plugins provide, and the devices of this machine."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, reduce
from operator import or_
from typing import TYPE_CHECKING, TypeVar

from mbench.contract.device import HOST
from mbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mbench.contract.device import Accelerator, Device, DeviceSample
    from mbench.machine.records import Machine
    from mbench.plugins.manager import Plugins

__all__ = ["DeviceGroup", "accelerator", "kind", "kinds", "names", "use", "usual"]

T = TypeVar("T")
_known: list[Plugins] = []


def use(plugins: Plugins | None) -> None:
    """Take kinds from these plugins; None means all that are installed."""
    _known[:] = [] if plugins is None else [plugins]
    kinds.cache_clear()


@cache
def kinds() -> Mapping[str, Device]:
    """The kinds by name, without the machine itself."""
    from mbench.plugins.manager import Plugins

    found: dict[str, Device] = (_known[0] if _known else Plugins()).devices.unique()
    return found


def names() -> list[str]:
    """The values of `--device`, besides "auto"."""
    return [HOST, *kinds()]


def kind(name: str) -> Device:
    """Raises UsageError for an unknown name."""
    from mbench.plugins.manager import nearest

    if name not in kinds():
        raise UsageError(f"unknown device {name!r}{nearest(name, names())}", option="--device")
    return kinds()[name]


def accelerator(name: str, address: str = "", *, ranks: int = 1) -> Accelerator | None:
    """The first device of that kind that workers see, or the one at an address.

    With several `ranks` on this machine, each with its own device, all these devices as one. None
    for the machine itself, or if there is no device.
    """
    if name == HOST:
        return None
    if address:
        there = [*kind(name).seen(), *kind(name).all()]
        return next((one for one in there if one.address == address), None)
    seen = kind(name).seen()[:ranks]
    return DeviceGroup(seen) if len(seen) > 1 else next(iter(seen), None)


def usual(elsewhere: Sequence[Machine] = ()) -> str:
    """The default kind: the first for which this machine has a device, else the host.

    With machines `elsewhere`, the first kind that all of them have.
    """

    def there(name: str, device: Device) -> bool:
        return all(one.device(name) for one in elsewhere) if elsewhere else bool(device.seen())

    return next((name for name, device in kinds().items() if there(name, device)), HOST)


class DeviceGroup:
    """The devices of a case's ranks on one machine, as one Accelerator.

    Name, address and facts are those of the first. Ranks wait for the slowest, so clocks are the
    lowest, temperatures the highest, and memory is that of the device with the least left.
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
        """The mode of the first device that is `for_one`; if there is none, of the first device."""
        return next((one for one in self.devices if one.for_one), self.devices[0]).mode

    @property
    def for_one(self) -> bool:
        return any(one.for_one for one in self.devices)

    def sample(self, pids: Sequence[int] = ()) -> DeviceSample:
        found = [one.sample(pids) for one in self.devices]

        def of(
            join: Callable[[Iterable[T]], T], read: Callable[[DeviceSample], T | None]
        ) -> T | None:
            """The combined value of all devices that report one; None if none does."""
            known = [value for one in found if (value := read(one)) is not None]
            return join(known) if known else None

        def whole(read: Callable[[DeviceSample], float | None]) -> float | None:
            """The sum over all devices; None unless all report a value."""
            values = [value for one in found if (value := read(one)) is not None]
            return sum(values) if len(values) == len(found) else None

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
        known = [found for one in self.devices if (found := one.memory()) is not None]
        return min(known, default=None)

    def held_bytes(self, pids: Sequence[int]) -> int | None:
        """How much memory `pids` hold on the device where they hold most."""
        known = [held for one in self.devices if (held := one.held_bytes(pids)) is not None]
        return max(known, default=None)

    def facts(self) -> Mapping[str, str]:
        return self.devices[0].facts()
