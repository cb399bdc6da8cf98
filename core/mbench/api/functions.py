"""The commands as functions: they build the same experiments, and return values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.api.call import Call, in_python
from mbench.api.result import Result
from mbench.results.folder import default_folder

if TYPE_CHECKING:
    import pandas as pd

    from mbench.api.result import Proofs

__all__ = ["compare", "load", "read", "run", "verify"]

Texts = str | Sequence[str]
"""One name, several with commas between them, or a list of them."""
Numbers = int | str | Sequence[int | str]
Sizes = Mapping[str, int] | str | Sequence[str]
"""{"image_size": 96}, or "image_size=96"."""
Seconds = float | str
Share = float | str
"""0.02, or "2%"."""
Memory = int | str
"""Bytes, or "6GiB"."""
Folder = str | PathLike[str]


def compare(
    frameworks: Texts = (),
    *,
    models: Texts | None = None,
    operators: Texts | None = None,
    mode: Texts | None = None,
    size: Sizes | None = None,
    image_size: int | None = None,
    sequence_length: int | None = None,
    prompt_length: int | None = None,
    new_tokens: int | None = None,
    batch_size: Numbers | None = None,
    scale: Texts | None = None,
    precision: Texts | None = None,
    amp: bool | None = None,
    tier: Texts | None = None,
    compiler: Texts | None = None,
    device: str | None = None,
    threads: int | None = None,
    steadiness: Texts | None = None,
    steady: bool | None = None,
    clip: bool | None = None,
    accumulate: Numbers | None = None,
    checkpoint: bool | None = None,
    data: Texts | None = None,
    loaders: Numbers | None = None,
    storage: Texts | None = None,
    protocol: str | None = None,
    fast: bool = False,
    rigorous: bool = False,
    processes: int | None = None,
    seed: int | None = None,
    metric: str | None = None,
    rounds: int | None = None,
    builds: int | None = None,
    budget: Seconds | None = None,
    block: Seconds | None = None,
    until: Share | None = None,
    max_processes: int | None = None,
    single_steps: bool | None = None,
    warmup_steps: int | None = None,
    steps: int | None = None,
    epochs: int | None = None,
    warmup_epochs: int | None = None,
    duration: Seconds | None = None,
    launcher: str | None = None,
    hosts: str | None = None,
    provision: bool = True,
    timeout: Seconds | None = None,
    memory_limit: Memory | None = None,
    mfu: bool | None = None,
    flops: str | None = None,
    verify: bool = True,
    allow_unequal: bool = False,
    resume: str | None = None,
    results: Folder | None = None,
    quiet: bool = False,
    verbose: bool = False,
) -> Result:
    """Measure two frameworks or more against each other, as `mbench compare` does.

    Keywords are the command's options: `compare(["torch", "tf"], models="resnet50", until=0.02)`.
    `compare(resume=run)` continues a run, and `processes`, `until` and `budget` add more to it.
    Raises UsageError for what does not exist, and Interrupted, which holds what was measured, on
    Ctrl-C. A case that fails raises nothing: see `Result.ok`.
    """
    with in_python():
        return Call.of(compare, locals()).compare()


def run(
    subject: Folder,
    *,
    frameworks: Texts | None = None,
    models: Texts | None = None,
    operators: Texts | None = None,
    mode: Texts | None = None,
    size: Sizes | None = None,
    image_size: int | None = None,
    sequence_length: int | None = None,
    prompt_length: int | None = None,
    new_tokens: int | None = None,
    batch_size: Numbers | None = None,
    scale: Texts | None = None,
    precision: Texts | None = None,
    amp: bool | None = None,
    tier: Texts | None = None,
    compiler: Texts | None = None,
    device: str | None = None,
    threads: int | None = None,
    steadiness: Texts | None = None,
    steady: bool | None = None,
    clip: bool | None = None,
    accumulate: Numbers | None = None,
    checkpoint: bool | None = None,
    data: Texts | None = None,
    loaders: Numbers | None = None,
    storage: Texts | None = None,
    protocol: str | None = None,
    fast: bool = False,
    rigorous: bool = False,
    processes: int | None = None,
    seed: int | None = None,
    metric: str | None = None,
    rounds: int | None = None,
    builds: int | None = None,
    budget: Seconds | None = None,
    block: Seconds | None = None,
    until: Share | None = None,
    max_processes: int | None = None,
    single_steps: bool | None = None,
    warmup_steps: int | None = None,
    steps: int | None = None,
    epochs: int | None = None,
    warmup_epochs: int | None = None,
    duration: Seconds | None = None,
    launcher: str | None = None,
    hosts: str | None = None,
    provision: bool = True,
    timeout: Seconds | None = None,
    memory_limit: Memory | None = None,
    mfu: bool | None = None,
    flops: str | None = None,
    verify: bool = True,
    allow_unequal: bool = False,
    resume: str | None = None,
    results: Folder | None = None,
    quiet: bool = False,
    verbose: bool = False,
) -> Result:
    """Measure one framework, or a suite, as `mbench run` does; see `compare`."""
    with in_python():
        return Call.of(run, locals()).run()


def verify(
    frameworks: Texts,
    *,
    models: Texts | None = None,
    operators: Texts | None = None,
    mode: Texts | None = None,
    size: Sizes | None = None,
    image_size: int | None = None,
    sequence_length: int | None = None,
    prompt_length: int | None = None,
    new_tokens: int | None = None,
    batch_size: Numbers | None = None,
    scale: Texts | None = None,
    precision: Texts | None = None,
    amp: bool | None = None,
    tier: Texts | None = None,
    compiler: Texts | None = None,
    device: str | None = None,
    threads: int | None = None,
    steadiness: Texts | None = None,
    steady: bool | None = None,
    clip: bool | None = None,
    accumulate: Numbers | None = None,
    checkpoint: bool | None = None,
    data: Texts | None = None,
    loaders: Numbers | None = None,
    storage: Texts | None = None,
    launcher: str | None = None,
    hosts: str | None = None,
    provision: bool = True,
    timeout: Seconds | None = None,
    fresh: bool = False,
    quick: bool = False,
    locate: str | None = None,
    quiet: bool = False,
    verbose: bool = False,
) -> Proofs:
    """Prove that frameworks do equal work, as `mbench verify` does; see `compare`."""
    with in_python():
        return Call.of(verify, locals()).verify()


def read(run: Folder | None = None) -> Result:
    """A run that was measured before.

    `run` is its folder, its file, or the beginning of its name in the default folder; without it,
    the latest. Raises MbenchError for what is not a run.
    """
    from mbench.results.run import load_run, pick_run
    from mbench.results.summary import analyse

    found = pick_run(default_folder(), None if run is None else str(run))
    return Result(analyse(load_run(found)), found)


def load(*runs: Folder) -> pd.DataFrame:
    """Every measured interval of `runs` as one tidy row.

    A run is given by its folder, its file, a folder of runs, or the beginning of its name in
    the default folder; without any, all runs of the default folder. Needs the extra "analysis".
    The columns are described in docs/reports.md. Raises MbenchError for what is not a run.
    """
    from mbench.results.database import files_of
    from mbench.results.run import pick_run
    from mbench.results.samples import frame

    places = [
        Path(run) if Path(run).exists() else pick_run(default_folder(), str(run)) for run in runs
    ]
    return frame(files_of(*(places or [default_folder()])))
