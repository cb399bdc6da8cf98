"""Which framework runs this model faster here, by how much, and how sure are we?"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd

    from mbench.notebook import Result

__all__ = ["load", "read"]

__version__ = "0.1.0"


def load(*runs: str | PathLike[str]) -> pd.DataFrame:
    """Every measured interval of `runs` as one tidy row.

    A run is given by its folder, its file, a folder of runs, or the beginning of its name in
    the default folder; without any, all runs of the default folder. Needs the extra "analysis".
    The columns are described in docs/reports.md. Raises MbenchError for what is no run.
    """
    from pathlib import Path

    from mbench.results.database import files_of
    from mbench.results.folder import default_folder
    from mbench.results.run import pick_run
    from mbench.results.samples import frame

    places = [
        Path(run) if Path(run).exists() else pick_run(default_folder(), str(run)) for run in runs
    ]
    return frame(files_of(*(places or [default_folder()])))


def read(run: str | PathLike[str] | None = None) -> Result:
    """One run, which notebooks show as its verdicts and tables.

    `run` is its folder, its file, or the beginning of its name in the default folder; without it,
    the latest. `read(run).document` is what `mbench show --format json` prints. Raises
    MbenchError for what is no run.
    """
    from mbench.notebook import Result
    from mbench.results.folder import default_folder
    from mbench.results.run import load_run, pick_run
    from mbench.results.summary import summarize

    found = pick_run(default_folder(), None if run is None else str(run))
    return Result(summarize(load_run(found)))
