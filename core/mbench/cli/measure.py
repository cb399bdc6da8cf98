"""What compare and run share: from an experiment to a written run and its report."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from mbench.cli.defaults import of_files, tell_defaults
from mbench.cli.gate import announce
from mbench.cli.options import chosen_exporter, chosen_report, plugins
from mbench.cli.output import check_writable, emit
from mbench.console import counted, say, span, tell

if TYPE_CHECKING:
    from mbench.cli.options import Decorator
    from mbench.engine.launchers import Launchers
    from mbench.measure.preflight import Checked
    from mbench.measure.run import Execution
    from mbench.spec.experiment import Experiment

__all__ = ["dry_run_option", "execution_of", "foresee", "launchers_of", "measure", "preflight_of"]

LAUNCHERS = "mbench.launchers"
"""Where a command's context keeps its launchers."""

dry_run_option: Decorator = click.option(
    "--dry-run", is_flag=True,
    help="Print the cases and how long they may take; measure nothing.",
)  # fmt: skip


def launchers_of(context: click.Context) -> Launchers:
    """A command's launchers, which hold their nodes until it ends."""
    from mbench.engine.launchers import Launchers

    if LAUNCHERS not in context.meta:
        context.meta[LAUNCHERS] = Launchers(
            plugins(context), dry=bool(context.params.get("dry_run"))
        )
        context.call_on_close(context.meta[LAUNCHERS].close)
    found: Launchers = context.meta[LAUNCHERS]
    return found


def preflight_of(context: click.Context, experiment: Experiment) -> Checked:
    """The experiment, checked; raises UsageError if it cannot be measured here."""
    from mbench.measure.preflight import preflight

    tell_defaults(context)
    continued = context.params.get("resume") is not None
    return preflight(experiment, launchers_of(context), continued=continued)


def execution_of(context: click.Context) -> Execution:
    from mbench.measure.run import Execution

    return Execution(
        results=context.params["results"],
        resume=context.params.get("resume"),
        command=("mbench", *sys.argv[1:], *of_files(context)[1]),
    )


def measure(context: click.Context, checked: Checked) -> int:
    """Measure, report, and return the exit code. Ctrl-C reports what was measured so far."""
    options = context.params
    report = chosen_report(context, options["format_"], options["layout"])
    exporter = chosen_exporter(context, options["exporter"])
    check_writable(options["output"])
    from mbench.api.execution import carry_out, warn
    from mbench.measure.run import rest_of
    from mbench.reports.progress import open_progress
    from mbench.results.run import remains

    execution = execution_of(context)
    progress = open_progress(verbosity=options["verbosity"], color=context.color)
    if options["dry_run"]:
        foresee(rest_of(checked, execution, progress) if execution.resume else checked, execution)
        warn(checked)
        return 0
    store, interrupted = carry_out(checked, execution, progress)
    allowance = None if interrupted else options.get("fail_if_slower")
    try:
        gate = emit(
            store.folder, report, options["output"], exporter, fail_if_slower=allowance,
            allow_inconclusive=options.get("allow_inconclusive", False),
        )  # fmt: skip
    except BaseException:  # Ctrl-C during a slow report, or a report that fails
        tell(f"no report; {remains(store.folder, store.id, shown=True)}")
        raise
    if interrupted:
        tell(f"interrupted; {remains(store.folder, store.id)}")
        return 130
    if options["verbosity"] != "quiet":
        tell(f"raw values in {store.folder}")
    code = 0
    if gate is not None:
        code = announce(
            gate, format_=options["format_"], layout=options["layout"], output=options["output"]
        )
    return 1 if store.failures else code


def foresee(checked: Checked, execution: Execution) -> None:
    """Print every comparison, its unsupported cases with the reason, and the total."""
    if not checked.comparisons:
        say("nothing is left to measure")
        return
    from mbench.environments.locate import describe_locations
    from mbench.measure.estimate import foreseen
    from mbench.measure.verification import proof_seconds

    entries = [entry for comparison in checked.comparisons for entry in comparison.entries]
    total: float | None = 0.0
    for comparison, seconds, words in foreseen(checked, execution.results):
        total = None if total is None or seconds is None else total + seconds
        frameworks = ", ".join(
            f"{entry.label} ({entry.case.compiler})" for entry in comparison.entries
        )
        if comparison.best_compiler:
            frameworks = ", ".join(entry.label for entry in comparison.entries)
        say(f"{comparison.title}: {frameworks}: {words}")
        for entry in comparison.entries:
            if not entry.support.supported:
                say(f"  {entry.label}: unsupported: {entry.support.reason}")
    needed = {e.spec.text: (e.spec, e.adapter) for e in entries if e.support.supported}
    for text, where in describe_locations(needed.values(), accelerator=checked.device).items():
        say(f"{text} runs {where}")
    lacking = sum(not entry.support.supported for entry in entries)
    said = f"{counted(len(checked.comparisons), 'comparison')}, {counted(len(entries), 'case')}"
    said += f", {lacking} of them unsupported" if lacking else ""
    protocol = next(iter(checked.further.values()), checked.experiment.protocol)
    said += f": {protocol.in_all(total)}" if total is not None else ""
    proofs = [proof_seconds(comparison) for comparison in checked.comparisons]
    took = span(sum(filter(None, proofs))) if all(proofs) else ""
    made = f" (if proofs must be made again, about {took}, as last time)" if took else ""
    say(f"{said}; environments, proofs and searches not included{made}")
