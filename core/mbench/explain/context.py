"""Where, when and by what a run was measured, and whether it can be trusted."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.reports.overview import duration
from mbench.results.encoding import plain_record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.reports.states import State
    from mbench.results.encoding import Json
    from mbench.results.summary import Summary

__all__ = ["Context"]


@dataclass(frozen=True, kw_only=True)
class Context:
    """Where, when and by what a run was measured, and whether it can be trusted."""

    summary: Summary
    states: Sequence[State]

    @property
    def facts(self) -> list[str]:
        """The machine, the versions, the date and the command, a line each."""
        summary = self.summary
        system = summary.system
        cores = [f"{counted(system.usable_cores, 'core')} of {system.cpu}"]
        cores += [gpu["name"] for gpu in system.gpus if "name" in gpu]
        threads = {case.axes.threads for case in summary.cases}
        cores += [counted(threads.pop(), "thread")] if len(threads) == 1 else []
        versions = {f"{case.label} {case.version}": None for case in summary.cases if case.version}
        own, took = f"mbench {summary.mbench}", duration(summary)
        return [
            f"Machine: {', '.join(cores)}",
            f"Versions: {', '.join([*versions, own])}",
            f"Measured: {summary.started[:16].replace('T', ' ')} UTC" + f", {took}" * bool(took),
            f"Command: {shlex.join(summary.command)}",
        ]

    def to_json(self) -> dict[str, Json]:
        summary = self.summary
        return {
            "mbench": summary.mbench,
            "command": list(summary.command),
            "started": summary.started,
            "finished": summary.finished,
            "system": plain_record(summary.system),
            "states": [
                {"level": one.level, "title": one.title, "text": str(one.text)}
                for one in self.states
            ],
        }
