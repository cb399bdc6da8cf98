"""`mbench run`: one framework, compared with nothing, or a suite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mbench.cli.case_options import case_options
from mbench.cli.complete import arms, subjects
from mbench.cli.formats import output_options
from mbench.cli.measure import measure, order_of
from mbench.cli.options import (
    ARMS,
    plugins,
    results_option,
)
from mbench.cli.protocols import course_options, protocol_options
from mbench.cli.screen import screen_options
from mbench.cli.sweeps import protocol_options_of, sweep_of, sweeps_of_suite
from mbench.cli.switches import CaseCommand
from mbench.errors import UsageError
from mbench.plugins.manager import nearest

if TYPE_CHECKING:
    from mbench.spec.order import Order

__all__ = ["command", "ordered"]


@click.command("run", cls=CaseCommand)
@click.argument("subject", metavar="FRAMEWORK|SUITE", shell_complete=arms(subjects))
@click.option(
    "--frameworks", type=ARMS, default=(), shell_complete=arms(many=True),
    help="Frameworks of a suite; the first is the baseline.  [default: the suite's own, else all]",
)  # fmt: skip
@case_options
@protocol_options
@course_options
@results_option
@output_options
@screen_options
@click.pass_context
def command(context: click.Context, /, **_: Any) -> None:
    """Measure one framework, or a suite.

    A suite is a file in TOML, or one that comes with mbench: quick, dlperf, nvidia-inference.
    What is given on the command line wins over what the suite says.

    \b
    Examples:
      mbench run torch
      mbench run tf --models bert-base --mode inference --batch-size 1,8,32
      mbench run quick --frameworks torch,tf
      mbench run my-suite.toml --dry-run
      mbench run my-suite.toml --resume 20260102-1504
    """
    context.exit(measure(context, ordered(context)))


def ordered(context: click.Context) -> Order:
    """What the options ask for of a framework or a suite; raises UsageError."""
    from mbench.spec.arm import Arm
    from mbench.spec.suite import find_suite, suite_names

    options = context.params
    subject, frameworks = options["subject"], options["frameworks"]
    suite = find_suite(subject)
    if suite is None:
        adapters, aliases = plugins(context).adapters, plugins(context).aliases
        name = Arm(subject).spec.name
        if name not in adapters.by_name and name not in aliases:
            known = [*adapters.by_name, *suite_names()]
            hint = nearest(name, known, aliases) + adapters.suspect
            raise UsageError(f"unknown framework or suite {name!r}{hint}")
        if frameworks:
            raise UsageError("--frameworks is for suites; to compare there is mbench compare")
        return order_of(context, [sweep_of(context, (subject,), options)], options)
    everything = tuple(sorted(plugins(context).adapters.unique()))
    chosen = frameworks or suite.frameworks or everything
    sweeps = sweeps_of_suite(context, suite, chosen)
    return order_of(context, sweeps, protocol_options_of(context, suite))
