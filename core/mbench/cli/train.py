"""`mbench train`: whether frameworks learn alike, and how soon."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mbench.cli.formats import format_options
from mbench.cli.grouped import GroupedCommand
from mbench.cli.options import Value, frameworks_options, plugins, results_option
from mbench.cli.output import check_writable, deliver
from mbench.cli.screen import screen_options
from mbench.console import tell
from mbench.learning.task import task_names
from mbench.spec import values

__all__ = ["command"]


@click.command("train", cls=GroupedCommand, usual=(
    "task", "frameworks", "seeds", "data", "precision", "resume", "output",
))  # fmt: skip
@frameworks_options(help="The first one is the baseline.")
@click.option("--task", metavar="NAME|FILE", default=None,
              help=f"What is trained: {', '.join(task_names())}, or a file that ends with .toml; "
              "mbench new task NAME writes one.")  # fmt: skip
@click.option("--seeds", type=Value(values.whole), default=None,
              help="Training runs of each framework, with the seeds 0, 1, ...  [default: as "
              "many as the task's power needs]")  # fmt: skip
@click.option("--data", type=click.Path(path_type=Path), default=None,
              help="Folder or file of data, for tasks that do not generate it.")  # fmt: skip
@click.option("--precision", default="fp32", show_default=True, help="Precision of the training.")
@click.option("--device", default="cpu", show_default=True, help="Device to train on.")
@click.option("--threads", type=Value(values.whole), default=None,
              help="Threads of each framework.  [default: one for each core]")  # fmt: skip
@click.option("--compiler", default="default", show_default=True,
              help="A framework's compiler, or its own default.")  # fmt: skip
@click.option("--tier", default="default", show_default=True, help="default or tuned.")
@click.option("--provision/--no-provision", default=True, show_default=True,
              help="Build a framework's environment where there is none.")  # fmt: skip
@click.option("--timeout", type=Value(values.seconds), default=900.0,
              help="Longest wait for a worker's answer.  [default: 900]")  # fmt: skip
@click.option("--resume", metavar="RUN", default=None,
              help="Continue RUN, from the first seed that is not complete: a seed that was under "
              "way begins again, for no checkpoint of it is kept. --seeds adds more.")  # fmt: skip
@click.option("--show", "shown", metavar="RUN", default=None,
              help="Train nothing: report RUN again, or what of it there is.")  # fmt: skip
@results_option
@format_options("table", "markdown", "csv", "json", "html")
@screen_options
@click.pass_context
def command(context: click.Context, /, **options: Any) -> None:
    """Train frameworks by the same task, and say whether they learn alike, and how soon.

    All get the same start, the same batches in the same order and the same learning rates. Three
    layers say whether they learn alike: in float64, 20 steps agree to within 1e-9; as it is timed,
    the loss keeps to the path of float64 as closely as rounding allows; and over several seeds,
    steps to the target and the final figure are equivalent within the task's margins.

    Frameworks take turns: one computes, the others stand still. The report has the accuracy and
    time of training as NVIDIA's tables have them, and the time to the target, split into steps and
    speed. --output FILE.html also draws the curves.

    \b
    Examples:
      mbench train --task glyphs --frameworks torch,tf
      mbench train torch tf jax --task glyphs --seeds 5 --output glyphs.html
      mbench train torch tf --task fashion-mnist --data /usr/share/datasets/fashion-mnist
      mbench train --resume 20260102
      mbench train --show 20260102 --output curves.html
    """
    check_writable(options["output"])
    from mbench.learning.conduct import Request, conduct, summary_of
    from mbench.learning.record import pick, read
    from mbench.learning.report import FORMATS

    quiet = options["verbosity"] == "quiet"
    interrupted = False
    if options["shown"] is not None:
        folder = pick(options["results"], options["shown"])
    else:
        names = ("task", "frameworks", "seeds", "data", "precision", "device", "threads",
                 "compiler", "tier", "provision", "timeout", "results", "resume")  # fmt: skip
        request = Request(**{name: options[name] for name in names})
        folder, interrupted = conduct(
            request, plugins(context), hear=(lambda _: None) if quiet else tell,
            verbosity="quiet",
        )  # fmt: skip
    record = read(folder)
    found = summary_of(record, plugins(context))
    deliver(FORMATS[options["format_"]](found, record), options["output"])
    if interrupted:
        tell(f"interrupted; mbench train --resume {folder.name} goes on with the first seed that "
             "is not complete")  # fmt: skip
        context.exit(130)
    if not quiet:
        tell(f"raw values in {folder}")
    context.exit(0 if found.ok else 1)
