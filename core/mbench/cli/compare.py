"""`mbench compare`: several frameworks, interleaved, with ratios and their intervals."""

from __future__ import annotations

import click

from mbench.cli.explain import following, measure_and_show
from mbench.cli.formats import output_options
from mbench.cli.gate import gate_options
from mbench.cli.measure import dry_run_option, measure, preflight_of
from mbench.cli.options import (
    CaseCommand,
    case_options,
    check_options,
    frameworks_options,
    given_of,
    launch_options,
    plugins,
    protocol_options,
    results_option,
    resume_option,
)
from mbench.cli.screen import screen_options

__all__ = ["command"]

INTERRUPTED = 130


@click.command("compare", cls=CaseCommand)
@frameworks_options(
    help="Two or more, the first is the baseline: torch, torch==2.12.0, torch@/path/to/python, "
    "each with settings: torch:inductor, torch:amp-bf16:threads=1, torch:VARIABLE=value."
)
@case_options
@protocol_options
@launch_options
@check_options
@resume_option
@dry_run_option
@results_option
@gate_options(of="another framework than the first is")
@output_options
@click.option(
    "--explain",
    is_flag=True,
    help="Also explain the difference, as mbench explain does: in a run of its own and in the "
    "same report.",
)
@screen_options
@click.pass_context
def command(context: click.Context, /, **_: object) -> None:
    """Measure frameworks against each other.

    Comma lists multiply into comparisons. Within one, every framework has its own process, all
    are warm, and they take turns in shuffled rounds, so that a drift of the machine hits all
    alike. Several sets of fresh processes make the interval.

    \b
    Examples:
      mbench compare torch tf
      mbench compare torch tf --models resnet50,bert-base --mode train,inference
      mbench compare torch tf --amp --batch-size 8,16
      mbench compare torch torch==2.12.0 --image-size 96 --budget 60
      mbench compare torch torch:inductor torch:amp-bf16
      mbench compare tf tf:xla tf:TF_ENABLE_ONEDNN_OPTS=0
      mbench compare torch tf --fast
      mbench compare torch tf --until 2% --budget 1800
      mbench compare torch tf --compiler best --batch-size max
      mbench compare torch tf --mode inference --explain
    """
    from mbench.api.requests import for_comparison

    frameworks = context.params["frameworks"]
    experiment = for_comparison(frameworks, given_of(context), plugins(context))
    checked = preflight_of(context, experiment)
    breakdown = following(context, checked) if context.params["explain"] else None
    code = measure(context, checked)
    if breakdown is not None and code != INTERRUPTED:
        code = max(code, measure_and_show(context, breakdown, after=True))
    context.exit(code)
