"""A way in which a framework runs a step: on which device, how it is compiled and waited for."""

from __future__ import annotations

import contextlib
import resource
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Compiler", "peak_resident_bytes"]


class Compiler:
    """Runs calls directly, so that their work is done when they return; adapters subclass it.

    The constructor may raise Unsupported if the build or the device does not support it.
    """

    differences: Sequence[str] = ()
    """What a reader should know about this compiler."""

    device: Any
    """The device's name, or the framework's own object for it."""

    def __init__(self, device: str) -> None:
        self.device = device

    def compile(self, function: Any) -> Any:
        """Returns what runs in place of `function`."""
        return function

    def finished(self, result: Any) -> Any:
        """The final result of a call, for frameworks whose calls return something else first."""
        return result

    def synchronize(self) -> None:
        """Wait until everything enqueued is done."""

    def peak_memory_bytes(self) -> int | None:
        """Peak memory of the device's allocator so far; None if it does not report this.

        On CPU, the peak resident memory of this process.
        """
        return peak_resident_bytes()

    def begin_peak(self) -> bool:
        """Restart the allocator's peak; returns whether it did. The OS kernel's peak remains."""
        return False


def peak_resident_bytes() -> int:
    """Peak resident memory of this process so far, for adapters on CPU.

    Linux's getrusage includes what the parent held when it forked, so it is the last resort.
    """
    with contextlib.suppress(OSError), open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
