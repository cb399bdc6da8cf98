"""`mbench train` as a function: whether frameworks learn alike, and how soon, as values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mbench.api.call import in_python
from mbench.api.result import Interrupted, Training
from mbench.console import tell
from mbench.plugins.manager import Plugins
from mbench.results.folder import default_folder, ensure_home
from mbench.spec import values

if TYPE_CHECKING:
    from mbench.api.functions import Folder, Seconds, Texts

__all__ = ["train"]


def train(
    frameworks: Texts = (),
    *,
    task: Folder | None = None,
    seeds: int | None = None,
    data: Folder | None = None,
    precision: str = "fp32",
    device: str = "cpu",
    threads: int | None = None,
    compiler: str = "default",
    tier: str = "default",
    provision: bool = True,
    timeout: Seconds = 900.0,
    resume: str | None = None,
    results: Folder | None = None,
    quiet: bool = False,
) -> Training:
    """Train frameworks by the same task, as `mbench train` does; the first is the baseline.

    `task` is the name of one of mbench's, or a file that ends with .toml; `data` the folder or file
    of data that the task does not generate. `train(resume=run, seeds=20)` adds seeds to a run.
    Raises UsageError for what does not exist, and Interrupted, which holds what was trained, on
    Ctrl-C. A framework that fails raises nothing: see `Training.ok`.
    """
    from mbench.learning.conduct import Request, conduct, summary_of
    from mbench.learning.record import read

    with in_python():
        ensure_home()
        plugins = Plugins()
        request = Request(
            task=None if task is None else str(task),
            frameworks=values.frameworks(frameworks) if frameworks else (),
            seeds=seeds, data=None if data is None else Path(data), precision=precision,
            device=device, threads=threads, compiler=compiler, tier=tier, provision=provision,
            timeout=float(values.seconds(timeout)), resume=resume,
            results=Path(results) if results else default_folder(),
        )  # fmt: skip
        hear = (lambda _: None) if quiet else tell
        folder, interrupted = conduct(request, plugins, hear=hear, verbosity="quiet")
        found = Training(summary_of(read(folder), plugins), folder)
    if interrupted:
        raise Interrupted(
            f"interrupted; what was trained is in {folder}, and train(resume={folder.name!r}) "
            "goes on with the first seed that is not complete",
            found,
        )
    return found
