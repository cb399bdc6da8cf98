"""An experiment that can be run: what users of `import mbench` build, store and repeat."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.errors import UsageError
from mbench.plugins.manager import Plugins
from mbench.results.encoding import plain
from mbench.results.folder import default_folder
from mbench.results.run import load_run, pick_run
from mbench.spec import experiment as spec

if TYPE_CHECKING:
    from os import PathLike

    from mbench.api.result import Result

__all__ = ["Experiment"]


@dataclass(frozen=True, kw_only=True)
class Experiment(spec.Experiment):
    """Frameworks with their settings, what is measured of them, how, and where.

    It is plain data: two are equal if they ask for the same. Raises UsageError if it contradicts
    itself.
    """

    @classmethod
    def from_run(cls, run: str | PathLike[str] | None = None) -> Experiment:
        """The experiment of a run, which is looked up as by `mbench.read`."""
        found = load_run(pick_run(default_folder(), None if run is None else str(run)))
        return cls(**vars(found.header.experiment))

    @classmethod
    def from_json(cls, text: str) -> Experiment:
        """Reads what `to_json` writes; raises UsageError for any other text."""
        try:
            return cls(**vars(spec.from_plain(json.loads(text))))
        except ValueError as error:
            raise UsageError(f"not an experiment: {error}") from None

    def to_json(self) -> str:
        return json.dumps(plain(self), indent=2)

    def run(
        self,
        *,
        results: str | PathLike[str] | None = None,
        resume: str | None = None,
        quiet: bool = False,
        verbose: bool = False,
    ) -> Result:
        """Measure it; the keywords and the errors are those of `mbench.compare`."""
        from mbench.api.execution import measure_here
        from mbench.measure.run import Execution

        folder = default_folder() if results is None else Path(results)
        return measure_here(
            self,
            Execution(results=folder, resume=resume, command=("mbench.Experiment.run",)),
            Plugins(),
            verbosity="quiet" if quiet else "verbose" if verbose else None,
        )
