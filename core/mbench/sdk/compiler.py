"""A way in which a framework runs a step: where it lies, how it is compiled and waited for."""

from __future__ import annotations

import contextlib
import resource
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Compiler", "peak_resident_bytes"]


class Compiler:
    """Work is done when a call returns, as it is called; adapters derive their own.

    It may raise Unsupported when it is made: where the build or the device lacks it.
    """

    differences: Sequence[str] = ()
    """What a reader should know of it."""

    device: Any
    """Its name, or the framework's own object for it."""

    def __init__(self, device: str) -> None:
        self.device = device

    def compile(self, function: Any) -> Any:
        """What runs in place of `function`."""
        return function

    def finished(self, result: Any) -> Any:
        """What a call has given, once it is done, where a call gives something else before."""
        return result

    def synchronize(self) -> None:
        """Wait until everything enqueued is done."""

    def peak_memory_bytes(self) -> int | None:
        """Most memory that the device's allocator has given so far; None where it does not tell.

        On CPU most resident memory of this process.
        """
        return peak_resident_bytes()

    def begin_peak(self) -> bool:
        """Let the allocator's peak begin anew; whether it does. The kernel's does not."""
        return False


def peak_resident_bytes() -> int:
    """Most resident memory of this process so far, for adapters on CPU.

    Linux's getrusage also knows what the parent held when it forked, so that is the last resort.
    """
    with contextlib.suppress(OSError), open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
