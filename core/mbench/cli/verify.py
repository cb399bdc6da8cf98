"""`mbench verify`: the proof that frameworks do equal work."""

from __future__ import annotations

from typing import Any

import click

from mbench.cli.completion import arms
from mbench.cli.defaults import tell_defaults
from mbench.cli.formats import format_options
from mbench.cli.options import (
    CaseCommand,
    case_options,
    frameworks_options,
    given_of,
    plugins,
    proof_options,
)
from mbench.cli.output import check_writable, deliver
from mbench.cli.screen import screen_options
from mbench.console import tell

__all__ = ["command"]


@click.command("verify", cls=CaseCommand, usual=(
    "models", "mode", "precision", "tier", "compiler", "device", "quick", "fresh", "locate",
    "output",
))  # fmt: skip
@frameworks_options(help="One or more, as in mbench compare.")
@case_options
@proof_options
@click.option("--fresh", is_flag=True, help="Ignore remembered proofs and prove everything again.")
@click.option("--quick", is_flag=True,
              help="While you write an adapter: prove in fp64 only and stop at the first failed "
              "check. Without --models, prove the cheapest model.")  # fmt: skip
@click.option("--locate", metavar="FRAMEWORK", shell_complete=arms(),
              help="If outputs fail, find the wrong tensor by comparing with this framework, "
              "which is proven too. Implies --quick.")  # fmt: skip
@format_options("table", "json")
@screen_options
@click.pass_context
def command(context: click.Context, /, **options: Any) -> None:
    """Prove that frameworks do equal work.

    Every framework starts from the same canonical weights and data. In float64, its outputs and
    losses are compared with a reference to within 1e-9, and so is the change of every tensor by
    plain gradient descent and by the workload's own optimizer. Then the same is compared, less
    strictly, in the precision and under the compiler asked for. Sizes, data, clipping and
    steadiness are the proof's own, whatever the options say.

    A failed check is reported at once. Proofs are remembered: after Ctrl-C or a failure, the same
    command continues where it stopped.

    \b
    Examples:
      mbench verify torch tf --models resnet50,bert-base
      mbench verify torch tf mxnet paddle --models zoo
      mbench verify torch --precision amp-bf16 --mode train,inference
      mbench verify torch --quick
      mbench verify mine --locate torch
    """
    check_writable(options["output"])
    tell_defaults(context)
    from mbench.api.execution import prove
    from mbench.api.requests import for_proof
    from mbench.reports import proof_table
    from mbench.reports.progress import open_progress

    quick, locate = options["quick"], options["locate"]
    experiment = for_proof(
        options["frameworks"], given_of(context), plugins(context), quick=quick, locate=locate
    )
    results, interrupted = prove(
        experiment, plugins(context), fresh=options["fresh"],
        quick=quick or locate is not None, locate=locate is not None,
        listener=open_progress(verbosity=options["verbosity"], color=context.color),
    )  # fmt: skip

    json = options["format_"] == "json"
    deliver(proof_table.json(results) if json else proof_table.render(results), options["output"])
    if interrupted:
        tell("interrupted; the same command continues from here")
        context.exit(130)
    context.exit(0 if all(result.outcome == "ok" for result in results) else 1)
