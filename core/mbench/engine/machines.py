"""The machines on which a launcher starts processes: what is asked for must be there, not here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.telemetry.system import describe_machine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.engine.worker import Launcher
    from mbench.telemetry.machine import Machine

__all__ = ["machines"]


def machines(launcher: Launcher) -> Mapping[str, Machine]:
    """By host, which is empty for this machine; raises MbenchError where one cannot be reached.

    A launcher without a word on it starts processes here.
    """
    asked = getattr(launcher, "machines", None)
    return {"": describe_machine()} if asked is None else asked()
