"""`mbench train`: whether frameworks learn alike, and how soon."""

from __future__ import annotations

import click

from mbench.cli.completion import completer, runs
from mbench.cli.formats import format_options
from mbench.cli.measure import execution_of, launchers_of
from mbench.cli.options import (
    CaseCommand,
    Value,
    explicit,
    frameworks_options,
    given_of,
    plugins,
    results_option,
    training_options,
)
from mbench.cli.output import check_writable, deliver, report_cut
from mbench.cli.screen import screen_options
from mbench.console import tell
from mbench.spec.learning import DATA, SEEDS, TASK

__all__ = ["command", "layout_option"]

layout_option = click.option(
    "--layout", default=None, help="Arrange the report like a published table: nvidia."
)


@click.command("train", cls=CaseCommand, usual=(
    "task", "frameworks", "seeds", "task_data", "precision", "resume", "output",
))  # fmt: skip
@frameworks_options(help="The first one is the baseline.")
@click.option(TASK.flag, metavar=TASK.metavar, default=None, help=TASK.says)
@click.option(SEEDS.flag, type=Value(SEEDS.read), default=None,
              help=f"{SEEDS.says}  [default: {SEEDS.default}]")  # fmt: skip
@click.option(DATA.flag, "task_data", type=Value(DATA.read, DATA.metavar), default=None,
              help=DATA.says)  # fmt: skip
@training_options
@click.option("--resume", metavar="RUN", default=None, shell_complete=completer(runs),
              help="Continue RUN from the first incomplete seed, which starts over, because no "
              "checkpoint of it is kept. --seeds adds more.")  # fmt: skip
@results_option
@format_options("table", "markdown", "csv", "json", "html")
@layout_option
@screen_options
@click.pass_context
def command(context: click.Context, /, **_: object) -> None:
    """Train frameworks on the same task, and say whether they learn alike, and how soon.

    All get the same start, the same batches in the same order and the same learning rates. Three
    layers say whether they learn alike: in float64, 20 steps agree to within 1e-9; as it is timed,
    the loss keeps to the path of float64 as closely as rounding allows; and over several seeds,
    steps to the target and the final figure are equivalent within the task's margins.

    Frameworks take turns: one computes, the others stand still. The report has the accuracy and
    time of training as NVIDIA's tables have them, and the time to the target, split into steps and
    speed. --output FILE.html also draws the curves. mbench show RUN shows a run again.

    \b
    Examples:
      mbench train --task glyphs --frameworks torch,tf
      mbench train torch tf jax --task glyphs --seeds 5 --output glyphs.html
      mbench train torch tf --task fashion-mnist --data /usr/share/datasets/fashion-mnist
      mbench train torch tf --task glyphs --layout nvidia --format markdown
      mbench train --resume 20260102
      mbench show 20260102 --output curves.html
    """
    options = context.params
    check_writable(options["output"])
    from mbench.api.requests import for_more_training, for_training
    from mbench.learning.conduct import planned
    from mbench.learning.report import report, trained
    from mbench.measure.run import conduct
    from mbench.reports.progress import open_progress
    from mbench.results.run import load_run, pick_run

    render = report(options["format_"], options["layout"])
    given, execution, earlier = given_of(context), execution_of(context), None
    if execution.resume is not None:
        earlier = load_run(pick_run(execution.results, execution.resume))
        experiment = for_more_training(
            earlier, given, seeds=options["seeds"], explicit=explicit(context)
        )
    else:
        experiment = for_training(
            options["frameworks"], given, plugins(context), task=options["task"],
            data=options["task_data"], seeds=options["seeds"],
        )  # fmt: skip
    checked, measure = planned(experiment, launchers_of(context), earlier=earlier)
    for warning in checked.warnings:
        tell(warning)
    progress = open_progress(verbosity=options["verbosity"], color=context.color)
    store, interrupted = conduct(checked, execution, progress, measure=measure)
    run = load_run(store.folder)
    report_cut(run)
    made = trained(run, plugins(context))
    deliver(render(made), options["output"])
    if interrupted:
        tell(f"interrupted; mbench train --resume {store.id} continues with the first incomplete "
             "seed")  # fmt: skip
        context.exit(130)
    if options["verbosity"] != "quiet":
        tell(f"raw values in {store.folder}")
    context.exit(0 if made.found.ok else 1)
