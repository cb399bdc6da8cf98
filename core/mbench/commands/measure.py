"""What compare and run share: from parsed options to a written run and its report."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from mbench.commands.foresee import foresee
from mbench.commands.options import chosen_outlet, chosen_report, plugins
from mbench.commands.output import check_writable, emit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import click

    from mbench.environments.environment import Environment
    from mbench.harness.progress import Progress
    from mbench.plan.plan import Entry, Sweep
    from mbench.results.store import RunWriter

__all__ = ["conduct", "measure"]


def measure(context: click.Context, sweeps: Sequence[Sweep], options: dict[str, Any]) -> int:
    """Measure, report, and return the exit code. Ctrl-C reports what was measured so far."""
    report = chosen_report(context, options["format_"], options["layout"])
    outlet = chosen_outlet(context, options["outlet"])
    if options["dry_run"]:
        foresee(context, sweeps, options)
        return 0
    check_writable(options["output"])
    store, interrupted = conduct(context, sweeps, options)
    emit(store.folder, report, options["output"], outlet)
    if interrupted:
        print(
            f"mbench: interrupted; what was measured is in {store.folder}, and the same command "
            f"with --resume {store.id} measures the rest",
            file=sys.stderr,
        )
        return 130
    print(f"mbench: raw values in {store.folder}", file=sys.stderr)
    return 1 if store.failures else 0


def conduct(
    context: click.Context, sweeps: Sequence[Sweep], options: dict[str, Any]
) -> tuple[RunWriter, bool]:
    """Measure, and say whether Ctrl-C ended it; what was measured until then is written down."""
    from mbench.engine.variables import inherited
    from mbench.harness.execute import run_plan
    from mbench.harness.homes import Homes
    from mbench.harness.progress import open_progress
    from mbench.harness.resume import take_up
    from mbench.plan.plan import plan_all
    from mbench.plan.protocol import choose
    from mbench.results.run import load_run, pick_run
    from mbench.results.store import RunWriter, command_line
    from mbench.telemetry.nvml import find_gpu
    from mbench.telemetry.sampler import Sampler
    from mbench.telemetry.system import describe_system

    protocol = choose(options["protocol_name"], options)
    comparisons = plan_all(sweeps, plugins(context))
    progress = open_progress()
    device = sweeps[0].device
    homes = Homes(accelerator=device, provision=options["provision"], progress=progress)
    adapters = [entry.adapter for comparison in comparisons for entry in comparison.entries]
    system, earlier = describe_system(inherited(adapters, device=device)), None
    if options.get("resume") is None:
        store = RunWriter(
            options["results"], protocol=protocol, system=system, arguments=command_line()
        )
    else:
        earlier = load_run(pick_run(options["results"], options["resume"]))
        try:
            comparisons = take_up(
                earlier, comparisons, protocol=protocol, system=system, homes=homes
            )
        finally:
            progress.close()
        store = RunWriter.reopen(earlier, arguments=command_line())
    interrupted = False
    try:
        prove = None
        if options["verify"]:
            prove = prover(store, progress, timeout=protocol.timeout_seconds,
                           allow_unequal=options["allow_unequal"])  # fmt: skip
        sampler = Sampler(gpu=find_gpu() if device == "cuda" else None)
        run_plan(
            comparisons, homes=homes, protocol=protocol, store=store, progress=progress,
            sampler=sampler, mfu=options["mfu"], prove=prove, earlier=earlier,
        )  # fmt: skip
        store.end("complete")
    except KeyboardInterrupt:
        interrupted = True
    finally:
        store.end("interrupted")
        progress.close()
    return store, interrupted


def prover(
    store: RunWriter, progress: Progress, *, timeout: float, allow_unequal: bool
) -> Callable[[Entry, Environment], None]:
    """What proves an entry's work equal before it is measured, and writes the proof down."""
    from mbench.engine.outcome import CaseEnded
    from mbench.equality.prove import prove

    def proven(entry: Entry, environment: Environment) -> None:
        document = prove(
            entry.adapter,
            environment,
            entry.case,
            log=store.log_path(f"{entry.number:03}-{entry.spec.name}-proof.log"),
            timeout=timeout,
            report=lambda text: progress.phase(entry.label, text),
        )
        store.append("equal_work", case=entry.number, **document)
        if not document["proven"] and not allow_unequal:
            raise CaseEnded("not-equal", document["failures"][0])

    return proven
