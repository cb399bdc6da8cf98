"""What is needed to start a worker's process, wherever it is to run."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import mbench
from mbench.contract.device import HOST
from mbench.errors import MbenchError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mbench.contract.rank import RankInfo

__all__ = ["Program", "package_files"]

BOOTSTRAP = Path(mbench.__file__).parent / "worker" / "bootstrap.py"


@dataclass(frozen=True, kw_only=True)
class Program:
    """A framework's interpreter, and what it is given."""

    python: Path
    modules: Sequence[str]
    """Ours that it must import, beside mbench."""
    variables: Mapping[str, str]
    """Environment variables, beside those around mbench."""
    log: Path
    """Where to its output is appended."""
    steady_threads: int = 0
    """Of a worker with the same addresses and cores in every process; 0: it is as it comes."""
    device: str = HOST
    """What kind it computes on: each of several processes is shown its own."""
    around: Mapping[str, str] = field(default_factory=dict)
    """Those of the variables around mbench that tune what it does: what is started on another
    machine is given them too."""
    timeout_seconds: float
    """Bounds each answer, unless a question says otherwise."""

    def of(self, place: RankInfo) -> Program:
        """The program of one of several processes: each has a log of its own."""
        if place.ranks == 1:
            return self
        log = self.log.with_stem(f"{self.log.stem}-rank{place.rank}")
        return replace(self, log=log)

    def command(self, *arguments: str) -> list[str]:
        """The command line; `arguments` tell the bootstrap how it is connected."""
        files = json.dumps(package_files(["mbench", *self.modules]))
        return [str(self.python), str(BOOTSTRAP), *arguments, files]


def package_files(modules: Iterable[str]) -> dict[str, str]:
    """The file of the top-level package of each module, as the bootstrap wants them.

    Raises MbenchError for a module that is not there.
    """
    files = {}
    for module in modules:
        top = module.partition(".")[0]
        found = importlib.util.find_spec(top)
        if found is None or found.origin is None:
            raise MbenchError(f"there is no module {top!r} beside mbench, which a plugin names")
        files[top] = found.origin
    return files
