"""The kinds of device that plugins bring, and what this machine has of them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from mbench.contract.device import HOST
from mbench.errors import UsageError
from mbench.machine.device_group import Several

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.contract.device import Accelerator, Device
    from mbench.machine.records import Machine
    from mbench.plugins.manager import Plugins

__all__ = ["accelerator", "kind", "kinds", "names", "use", "usual"]


_known: list[Plugins] = []


def use(plugins: Plugins | None) -> None:
    """Take kinds from these plugins; from None on, from all that are installed."""
    _known[:] = [] if plugins is None else [plugins]
    kinds.cache_clear()


@cache
def kinds() -> Mapping[str, Device]:
    """By name, the machine itself left out."""
    from mbench.plugins.manager import Plugins

    found: dict[str, Device] = (_known[0] if _known else Plugins()).devices.unique()
    return found


def names() -> list[str]:
    """What `--device` takes, beside "auto"."""
    return [HOST, *kinds()]


def kind(name: str) -> Device:
    """Raises UsageError for a name that no plugin has."""
    from mbench.plugins.manager import nearest

    if name not in kinds():
        raise UsageError(f"unknown device {name!r}{nearest(name, names())}", option="--device")
    return kinds()[name]


def accelerator(name: str, address: str = "", *, ranks: int = 1) -> Accelerator | None:
    """The device of that kind that a worker gets to see first, or the one at an address.

    Of several `ranks` on this machine, each of which has one of its own, all of these as one. None
    for the machine itself, and where there is none.
    """
    if name == HOST:
        return None
    if address:
        there = [*kind(name).seen(), *kind(name).all()]
        return next((one for one in there if one.address == address), None)
    seen = kind(name).seen()[:ranks]
    return Several(seen) if len(seen) > 1 else next(iter(seen), None)


def usual(elsewhere: Sequence[Machine] = ()) -> str:
    """The kind where none is asked for: the first of which there is one, else the host.

    On machines `elsewhere`, the first that all of them have.
    """

    def there(name: str, device: Device) -> bool:
        return all(one.device(name) for one in elsewhere) if elsewhere else bool(device.seen())

    return next((name for name, device in kinds().items() if there(name, device)), HOST)
