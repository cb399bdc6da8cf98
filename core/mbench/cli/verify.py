"""`mbench verify`: the proof that frameworks do equal work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from mbench.cli.case_options import case_options
from mbench.cli.complete import arms
from mbench.cli.defaults import tell_defaults
from mbench.cli.formats import format_options
from mbench.cli.launching import launcher_of
from mbench.cli.named import frameworks_options
from mbench.cli.options import (
    hosts_option,
    launcher_option,
    plugins,
    provision_option,
    timeout_option,
)
from mbench.cli.output import check_writable, deliver
from mbench.cli.screen import screen_options
from mbench.cli.sweeps import sweep_of
from mbench.cli.switches import CaseCommand
from mbench.console import tell
from mbench.errors import UsageError

if TYPE_CHECKING:
    from mbench.measure.verification import Verification

__all__ = ["command", "proven"]


@click.command("verify", cls=CaseCommand)
@frameworks_options(help="One or more, as in mbench compare.")
@case_options
@provision_option
@timeout_option
@launcher_option
@hosts_option
@click.option("--fresh", is_flag=True, help="Prove anew what is remembered as proven.")
@click.option("--quick", is_flag=True,
              help="Prove in fp64 alone, up to the first check that fails, while you write an "
              "adapter. Without --models, prove the model that takes least.")  # fmt: skip
@click.option("--locate", metavar="FRAMEWORK", shell_complete=arms(),
              help="Where outputs fail, say which tensor is wrong, by this framework, which is "
              "proven too. Proves as --quick does.")  # fmt: skip
@format_options("table", "json")
@screen_options
@click.pass_context
def command(context: click.Context, /, **options: Any) -> None:
    """Prove that frameworks do equal work.

    Every framework starts from the same canonical weights and data. In float64, its parameters,
    outputs and losses are compared with a reference at 1e-9, and so is the change of every tensor
    by plain gradient descent and by the workload's own optimizer. Then outputs or losses are
    compared in the precision and under the compiler asked for. The sizes of batch, image and
    sequence are the proof's own.

    A check that fails is told at once. What is proven is remembered. After Ctrl-C or a failure, the
    same command goes on from there.

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
    results, interrupted = proven(context)
    from mbench.reports import proof_table

    json = options["format_"] == "json"
    deliver(proof_table.json(results) if json else proof_table.render(results), options["output"])
    if interrupted:
        tell("interrupted; the same command goes on from here")
        context.exit(130)
    context.exit(0 if all(result.outcome == "ok" for result in results) else 1)


def proven(context: click.Context) -> Verification:
    """What the options ask for, proven; raises UsageError."""
    from mbench.measure.verification import verify
    from mbench.progress import open_progress
    from mbench.spec.planning import plan

    options = context.params
    if not options["frameworks"]:
        raise UsageError("verify takes a framework or more, and mbench list frameworks shows them")
    proving = options["frameworks"] + ((options["locate"],) if options["locate"] else ())
    if quick := options["quick"] or bool(options["locate"]):
        options = quickly(context, proving)
    sweep = sweep_of(context, proving, {**options, "seed": 0})
    comparisons = plan(sweep, plugins(context))
    if any(comparison.best_compiler for comparison in comparisons):
        raise UsageError(
            "verify takes compilers by name, and best is found by measuring: give "
            "--tier default,tuned or --compiler NAME; mbench compare proves what it has found"
        )
    progress = open_progress(verbosity=options["verbosity"], color=context.color)
    return verify(
        comparisons, progress, device=sweep.device, provision=options["provision"],
        timeout=options["timeout"], fresh=options["fresh"], quick=quick,
        locate=bool(options["locate"]), launcher=launcher_of(context, comparisons, options),
    )  # fmt: skip


def quickly(context: click.Context, frameworks: tuple[str, ...]) -> dict[str, Any]:
    """The options as --quick has them; raises UsageError."""
    from mbench.machine.system import usable_cores
    from mbench.proofs.proof_case import quickest
    from mbench.spec.arm import Arm

    options, found = context.params, plugins(context)
    if options["precision"] not in (None, ("fp64",)):
        flag = "--quick" if options["quick"] else "--locate"
        raise UsageError(f"{flag} proves in fp64: leave out --precision, or leave out {flag}")
    options = {**options, "precision": ("fp64",)}
    if any(
        context.get_parameter_source(name) is not ParameterSource.DEFAULT
        for name in ("model", "operators")
    ):
        return options
    of_each = [
        [case.model for case in quickest(
            found.adapter(Arm(text).spec.name), found.workloads.unique(), device="cpu",
            mode=(options["mode"] or ("train",))[0], threads=usable_cores(),
        )]
        for text in frameworks
    ]  # fmt: skip
    shared = [model for model in of_each[0] if all(model in models for models in of_each)]
    if not shared:
        raise UsageError("no model is supported by all of them: name some with --models")
    return {**options, "model": (shared[0],)}
