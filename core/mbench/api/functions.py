"""The commands as functions: their keywords are the options, their results are values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.api.keywords import Asked, Option, takes, typed
from mbench.api.result import Interrupted, Proofs, Result
from mbench.cli import compare as compare_command
from mbench.cli import run as run_command
from mbench.cli import verify as verify_command
from mbench.cli.measure import carry_out

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    import pandas as pd

    from mbench.spec.order import Order

__all__ = ["compare", "load", "read", "run", "verify"]


@takes(compare_command.command)
def compare(frameworks: str | Sequence[str], **options: Option) -> Result:
    """Measure two frameworks or more against each other, as `mbench compare` does.

    Keywords are the command's options: `compare(["torch", "tf"], models="resnet50", until=0.02)`.
    Raises UsageError for what there is not, and Interrupted, which holds what was measured, on
    Ctrl-C. A case that falls short raises nothing: see `Result.ok`.
    """
    asked = typed(compare_command.command, {"frameworks": frameworks, **options})
    return measured(compare_command.ordered(asked.context), asked)


@takes(run_command.command)
def run(subject: str | PathLike[str], **options: Option) -> Result:
    """Measure one framework, or a suite, as `mbench run` does; see `compare`."""
    asked = typed(run_command.command, options, str(subject))
    return measured(run_command.ordered(asked.context), asked)


@takes(verify_command.command)
def verify(frameworks: str | Sequence[str], **options: Option) -> Proofs:
    """Prove that frameworks do equal work, as `mbench verify` does; see `compare`."""
    asked = typed(verify_command.command, {"frameworks": frameworks, **options})
    try:
        results, interrupted = verify_command.proven(asked.context)
    finally:
        asked.context.close()
    proofs = Proofs(results)
    if interrupted:
        raise Interrupted("interrupted; the same call goes on from here", proofs)
    return proofs


def read(run: str | PathLike[str] | None = None) -> Result:
    """A run that was measured before.

    `run` is its folder, its file, or the beginning of its name in the default folder; without it,
    the latest. Raises MbenchError for what is no run.
    """
    from mbench.results.folder import default_folder
    from mbench.results.run import load_run, pick_run
    from mbench.results.summary import analyse

    found = pick_run(default_folder(), None if run is None else str(run))
    return Result(analyse(load_run(found)), found)


def load(*runs: str | PathLike[str]) -> pd.DataFrame:
    """Every measured interval of `runs` as one tidy row.

    A run is given by its folder, its file, a folder of runs, or the beginning of its name in
    the default folder; without any, all runs of the default folder. Needs the extra "analysis".
    The columns are described in docs/reports.md. Raises MbenchError for what is no run.
    """
    from mbench.results.database import files_of
    from mbench.results.folder import default_folder
    from mbench.results.run import pick_run
    from mbench.results.samples import frame

    places = [
        Path(run) if Path(run).exists() else pick_run(default_folder(), str(run)) for run in runs
    ]
    return frame(files_of(*(places or [default_folder()])))


def measured(order: Order, asked: Asked) -> Result:
    """The result of an order; raises Interrupted with what there is of it."""
    from mbench.progress import open_progress

    progress = open_progress(verbosity=asked.context.params["verbosity"])
    try:
        store, interrupted = carry_out(replace(order, command=asked.words), progress)
    finally:
        asked.context.close()
    result = read(store.folder)
    if interrupted:
        raise Interrupted(
            f"interrupted; what was measured is in {store.folder}, and the same call with "
            f"resume={store.id!r} measures the rest",
            result,
        )
    return result
