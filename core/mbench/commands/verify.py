"""`mbench verify`: the proof that frameworks do equal work."""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mbench.commands.case_options import case_options
from mbench.commands.options import (
    COMMAS,
    plugins,
    provision_option,
    timeout_option,
)
from mbench.commands.output import check_writable, deliver
from mbench.commands.screen import screen_options
from mbench.commands.sweeps import sweep_of
from mbench.commands.switches import CaseCommand
from mbench.errors import UsageError

if TYPE_CHECKING:
    from mbench.harness.homes import Homes
    from mbench.harness.progress import Progress
    from mbench.plan.plan import Entry

__all__ = ["command"]


@click.command("verify", cls=CaseCommand)
@click.option("--frameworks", type=COMMAS, required=True, help="One or more, as in mbench compare.")
@case_options
@provision_option
@timeout_option
@click.option("--fresh", is_flag=True, help="Prove anew what is remembered as proven.")
@click.option("--format", "format_", type=click.Choice(["table", "json"]), default="table",
              show_default=True, help="Of the report.")  # fmt: skip
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), default=None,
              help="Write the report to a file instead of stdout.")  # fmt: skip
@screen_options
@click.pass_context
def command(context: click.Context, /, frameworks: tuple[str, ...], **options: Any) -> None:
    """Prove that frameworks do equal work.

    Every framework starts from the same canonical weights and data. In float64: parameters,
    outputs, losses, the change of every tensor by plain gradient descent and by the workload's
    own optimizer, all against a reference at 1e-9. Then outputs or losses in the precision and
    under the compiler asked for. The sizes of batch, image and sequence are the proof's own.

    What is proven is remembered. After Ctrl-C or a failure, the same command goes on from there.

    \b
    Examples:
      mbench verify --frameworks torch,tf --models resnet50,bert-base
      mbench verify --frameworks torch,tf,mxnet,paddle --models zoo
      mbench verify --frameworks torch --precision amp-bf16 --mode train,inference
    """
    from mbench.harness.homes import Homes
    from mbench.harness.progress import open_progress
    from mbench.plan.plan import plan

    check_writable(options["output"])
    sweep = sweep_of(context, frameworks, {**options, "seed": 0})
    comparisons = plan(sweep, plugins(context))
    if any(comparison.best_compiler for comparison in comparisons):
        raise UsageError("verify takes compilers by name: --compiler best is found by measuring")
    progress = open_progress(verbosity=options["verbosity"])
    homes = Homes(accelerator=sweep.device, provision=options["provision"], progress=progress)
    results: list[dict[str, Any]] = []
    interrupted = False
    with tempfile.TemporaryDirectory(prefix="mbench-") as logs:
        try:
            for number, comparison in enumerate(comparisons, start=1):
                title = f"[{number} of {len(comparisons)}] {comparison.title}"
                progress.comparison(title, [e.label for e in comparison.entries])
                for entry in comparison.entries:
                    log = Path(logs, f"{entry.number}.log")
                    results.append(
                        verify(
                            entry, homes, progress, log=log,
                            timeout=options["timeout"], fresh=options["fresh"],
                        )
                    )  # fmt: skip
        except KeyboardInterrupt:
            interrupted = True
        finally:
            progress.close()
    if options["format_"] == "json":
        text = json.dumps({"schema": 1, "proofs": results}, indent=2, allow_nan=False) + "\n"
    else:
        from mbench.reports.proofs import render

        text = render(results)
    deliver(text, options["output"], format_=options["format_"])
    if interrupted:
        print("mbench: interrupted; the same command goes on from here", file=sys.stderr)
        context.exit(130)
    context.exit(0 if all(result["outcome"] == "ok" for result in results) else 1)


def verify(
    entry: Entry, homes: Homes, progress: Progress, *, log: Path, timeout: float, fresh: bool
) -> dict[str, Any]:
    """One entry's proof with its outcome, as plain data."""
    from mbench.engine.ending import last_words
    from mbench.engine.outcome import CaseEnded
    from mbench.equality.proof_case import PROVEN
    from mbench.equality.prove import prove
    from mbench.errors import MbenchError

    case = entry.case
    result: dict[str, Any] = {
        "framework": entry.label, **{axis.name: axis.of(case) for axis in PROVEN},
        "outcome": "ok", "reason": "", "proof": None,
    }  # fmt: skip
    try:
        if not entry.support.supported:
            raise CaseEnded("unsupported", entry.support.reason)
        proof = prove(
            entry.adapter,
            homes.of(entry),
            case,
            log=log,
            timeout=timeout,
            report=lambda text: progress.phase(entry.label, text),
            fresh=fresh,
        )
        result |= {"proof": asdict(proof), "version": proof.version}
        if not proof.proven:
            raise CaseEnded("not-equal", "; ".join(proof.failures))
        progress.phase(entry.label, "proven before" if proof.remembered else "proven")
    except (CaseEnded, MbenchError) as error:
        end = CaseEnded.of(error)
        result |= {"outcome": end.outcome, "reason": end.reason}
        progress.ended(entry.label, end)
        if end.log and end.outcome in ("crashed", "failed", "timeout"):
            print(last_words(end.log), file=sys.stderr)
    return result
