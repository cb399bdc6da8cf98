"""What is asked for: the comparisons, how they are measured, and what is done besides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from mbench.plugins.launcher import Launcher
    from mbench.spec.planning import Comparison
    from mbench.spec.protocol import Protocol

__all__ = ["Order"]


@dataclass(frozen=True, kw_only=True)
class Order:
    """Made of a command's options at the edge; nothing further in is given options."""

    comparisons: tuple[Comparison, ...]
    protocol: Protocol
    launcher: Launcher
    """Starts the workers."""
    command: tuple[str, ...]
    """What asks for it on a command line, as words."""
    results: Path
    """The folder of all runs."""
    resume: str | None = None
    """The run whose missing part is measured; None: a new one."""
    provision: bool = True
    """Whether environments that are not there are built."""
    verify: bool = True
    """Whether work is proven equal before it is timed."""
    allow_unequal: bool = False
    """Whether what is not equal is measured all the same."""
    mfu: bool = True
    """Whether the machine's ceiling is measured, too."""

    @property
    def device(self) -> str:
        """The one that everything is measured on."""
        (device,) = {entry.case.device for c in self.comparisons for entry in c.entries}
        return device
