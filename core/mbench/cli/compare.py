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
    explicit,
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

INCONCLUSIVE, FAILED, INTERRUPTED = 3, 1, 130
WORSE = (0, INCONCLUSIVE, FAILED, INTERRUPTED)
"""Exit codes, the worst last."""


@click.command("compare", cls=CaseCommand, usual=(
    "models", "mode", "batch_size", "amp", "tier", "fast", "budget", "until", "fail_if_slower",
    "output",
))  # fmt: skip
@frameworks_options(help="The same as the arguments, separated by commas: torch,tf.")
@case_options
@protocol_options
@launch_options
@check_options
@resume_option
@dry_run_option
@results_option
@gate_options(of="a framework is slower than the first")
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

    Each FRAMEWORK is a name, torch; a version, torch==2.12.0; or a Python, torch@/path/to/python;
    and may have settings, torch:inductor:threads=1 or torch:VARIABLE=value. The first is the
    baseline. They take turns in fresh processes, so that a drift of the machine hits all alike.
    Options with several values multiply into comparisons.

    \b
    Examples:
      mbench compare torch tf
      mbench compare torch tf --fast
      mbench compare torch tf --models resnet50,bert-base --mode train,inference
      mbench compare --resume 20260102-1504 --until 2%
      mbench compare torch torch:inductor torch:amp-bf16 --until 2% --budget 30m
      mbench compare torch==2.12.0 torch==2.13.0 --fail-if-slower 3%
      mbench compare tf tf:TF_ENABLE_ONEDNN_OPTS=0 --mode inference --explain
    """
    from mbench.api.requests import for_comparison, for_resumption

    frameworks, resume = context.params["frameworks"], context.params["resume"]
    given = given_of(context)
    if resume is not None and not frameworks:
        results = context.params["results"]
        experiment = for_resumption(resume, results, given, explicit=explicit(context))
    else:
        experiment = for_comparison(frameworks, given, plugins(context))
    checked = preflight_of(context, experiment)
    breakdown = following(context, checked) if context.params["explain"] else None
    code = measure(context, checked)
    if breakdown is not None and code != INTERRUPTED:
        code = max(code, measure_and_show(context, breakdown, after=True), key=WORSE.index)
    context.exit(code)
