"""`mbench train` as a function: whether frameworks learn alike, and how soon, as values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.api.call import Call, in_python
from mbench.spec.learning import DATA, SEEDS, TASK

if TYPE_CHECKING:
    from mbench.api.functions import Folder, Seconds, Texts
    from mbench.api.result import Training

__all__ = ["train"]


def train(
    frameworks: Texts = (),
    *,
    task: Folder | None = None,
    seeds: int | None = None,
    data: Folder | None = None,
    precision: str | None = None,
    amp: bool | None = None,
    tier: str | None = None,
    compiler: str | None = None,
    device: str | None = None,
    threads: int | None = None,
    provision: bool = True,
    timeout: Seconds | None = None,
    memory_limit: int | str | None = None,
    resume: str | None = None,
    results: Folder | None = None,
    quiet: bool = False,
    verbose: bool = False,
) -> Training:
    """Train frameworks on the same task, as `mbench train` does; the first is the baseline.

    `task` is the name of one of mbench's, or a file that ends with .toml; `data` the folder or file
    of data that the task does not generate. `train(resume=run, seeds=20)` adds seeds to a run.
    Raises UsageError for what does not exist, and Interrupted, which holds what was trained, on
    Ctrl-C. A framework that fails raises nothing: see `Training.ok`.
    """
    with in_python():
        return Call.of(train, locals(), own=(TASK, SEEDS, DATA)).train()
