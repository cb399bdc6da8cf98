"""`mbench run`: one framework on its own, or a suite."""

from __future__ import annotations

from contextlib import nullcontext

import click

from mbench.cli.completion import arms, subjects
from mbench.cli.formats import output_options
from mbench.cli.measure import dry_run_option, measure, preflight_of
from mbench.cli.options import (
    ARMS,
    CaseCommand,
    case_options,
    check_options,
    explicit,
    given_of,
    launch_options,
    plugins,
    protocol_options,
    results_option,
    resume_option,
)
from mbench.cli.screen import screen_options

__all__ = ["command"]


@click.command("run", cls=CaseCommand, usual=(
    "frameworks", "models", "mode", "batch_size", "amp", "tier", "fast", "budget", "dry_run",
    "output",
))  # fmt: skip
@click.argument("subject", metavar="FRAMEWORK|SUITE", shell_complete=arms(subjects))
@click.option(
    "--frameworks", type=ARMS, default=(), shell_complete=arms(many=True),
    help="Frameworks for a suite; the first is the baseline.  [default: the suite's own, else all]",
)  # fmt: skip
@case_options
@protocol_options
@launch_options
@check_options
@resume_option
@dry_run_option
@results_option
@output_options
@screen_options
@click.pass_context
def command(
    context: click.Context, /, subject: str, frameworks: tuple[str, ...], **_: object
) -> None:
    """Measure one framework, or a suite.

    A suite is a TOML file, or one of mbench's own, such as quick, dlperf or nvidia-inference.
    Options on the command line take precedence over the suite.

    \b
    Examples:
      mbench run torch
      mbench run tf --models bert-base --mode inference --batch-size 1,8,32
      mbench run quick --frameworks torch,tf
      mbench run my-suite.toml --dry-run
      mbench run my-suite.toml --resume 20260102-1504
    """
    from mbench.api.requests import for_run

    experiment, suite = for_run(
        subject, frameworks, given_of(context), plugins(context), explicit=explicit(context)
    )
    with suite.locating(frameworks or suite.frameworks) if suite else nullcontext():
        checked = preflight_of(context, experiment)
    context.exit(measure(context, checked))
