"""`mbench disk`: how fast a disk reads and writes."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mbench.cli.completion import completer
from mbench.cli.formats import format_options
from mbench.cli.options import COMMAS, MEMORY, SECONDS, SIZE
from mbench.cli.output import check_writable, deliver
from mbench.cli.screen import color_option
from mbench.console import say, tell
from mbench.errors import MbenchError, UsageError
from mbench.machine.disk.jobs import JOBS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from mbench.machine.disk.measure import DiskSummary, JobSummary
    from mbench.reports.grid import Cell

__all__ = ["command"]

COLUMNS = (
    "job",
    "of",
    "MB/s",
    "95 % interval",
    "IOPS",
    "p50 ms",
    "p95 ms",
    "p99 ms",
    "p99.9 ms",
    "rounds",
)


def known(_: click.Context, __: click.Parameter, chosen: tuple[str, ...]) -> tuple[str, ...]:
    for name in chosen:
        if name not in JOBS:
            raise UsageError(f"unknown job {name!r}; available: {', '.join(JOBS)}",
                             option="--jobs")  # fmt: skip
    return tuple(dict.fromkeys(chosen))


@click.command("disk")
@click.argument("folder", type=click.Path(path_type=Path), default=".")
@click.option("--jobs", type=COMMAS, default=tuple(JOBS), callback=known,
              show_default="all", shell_complete=completer(lambda _: JOBS, many=True),
              help=f"What to measure: {', '.join(JOBS)}.")  # fmt: skip
@click.option("--size", type=MEMORY, default="4GiB", show_default=True,
              help="Size of the test file.")  # fmt: skip
@click.option("--seconds", type=SECONDS, default=5.0, show_default=True,
              help="How long to time each job per round, after an untimed start of a "
                   "sixth of that.")  # fmt: skip
@click.option("--rounds", type=SIZE, default=5, show_default=True,
              help="Rounds of all jobs; an interval needs at least three.")  # fmt: skip
@click.option("--buffered", is_flag=True,
              help="Use the page cache, which is otherwise bypassed.")  # fmt: skip
@click.option("--dry-run", is_flag=True,
              help="Print what would be measured and how long it would take.")  # fmt: skip
@format_options("table", "json", "jsonl")
@click.option("--layout", type=click.Choice(["superbench"]), default=None,
              help="Use SuperBench's names for figures: in a table, a baseline (json), or a line "
                   "of results-summary.jsonl.")  # fmt: skip
@color_option
@click.option("-q", "--quiet", is_flag=True, help="Show only the report.")
@click.pass_context
def command(
    context: click.Context, folder: Path, jobs: tuple[str, ...], size: int, seconds: float,
    rounds: int, buffered: bool, dry_run: bool, format_: str, output: Path | None,
    layout: str | None, quiet: bool,
) -> None:  # fmt: skip
    """Measure the disk of a folder with fio: bandwidth, IOPS and latencies.

    FOLDER is the current one unless given. A test file in it is read and written without the page
    cache, sequentially and at random. The file has no name and disappears with the command, however
    the command ends.

    \b
    Examples:
      mbench disk .
      mbench disk /data --jobs seq_read,rand_read --size 16GiB
      mbench disk /data --format json --output disk.json
      mbench disk /data --layout superbench --output results-summary.jsonl
    """
    from mbench.machine.disk.measure import estimate, measure
    from mbench.machine.disk.test_file import mount_of

    check_writable(output)
    if layout is None and format_ == "jsonl":
        raise UsageError("the format jsonl needs --layout superbench", option="--format")
    if layout and buffered:
        raise UsageError(f"{layout} has no names for memory figures: leave out --buffered",
                         option="--buffered")  # fmt: skip
    plan = estimate(folder, jobs, size=size, seconds=seconds, rounds=rounds)
    if layout and (mount := mount_of(folder)) and mount.is_memory:
        raise MbenchError(f"{layout} has no names for memory figures: give a folder on a disk")
    if dry_run:
        say(plan)
        return
    if not quiet:
        tell(plan)
    summary = measure(folder, jobs, size=size, seconds=seconds, rounds=rounds,
                      direct=not buffered, report=quietly if quiet else tell)  # fmt: skip
    deliver(render(summary, layout=layout, format_=format_), output)
    if summary.status == "interrupted":
        tell("interrupted; showing completed rounds only")
        context.exit(130)
    context.exit(1 if any(job.outcome != "ok" for job in summary.jobs) else 0)


def render(summary: DiskSummary, *, layout: str | None, format_: str) -> RenderableType:
    """The summary in a format, with mbench's own names or a layout's."""
    if layout is not None:
        from mbench.reports.compat_formats import superbench

        found = superbench.disk_metrics(summary)
        return superbench.written(found, node=summary.system.hostname, format_=format_)
    return json.dumps(asdict(summary), indent=2) + "\n" if format_ == "json" else table_of(summary)


def quietly(_: str) -> None:
    pass


def table_of(summary: DiskSummary) -> RenderableType:
    from mbench.reports.grid import Grid

    kind, device = (
        (summary.mount.kind, summary.mount.device) if summary.mount else ("unknown", "unknown")
    )
    failures = [f"{job.name}: {job.outcome}, {job.reason}"
                for job in summary.jobs if job.outcome != "ok"]  # fmt: skip
    return Grid(
        f"{summary.folder} on {kind} of {device}: a file of {summary.size_bytes / 2**20:,.0f} MiB, "
        f"by {summary.tool}",
        COLUMNS,
        [row for job in summary.jobs for row in rows(job)],
        numeric=frozenset({"95 % interval"}),
        spare=("p95 ms", "p50 ms", "p99.9 ms"),
        all_in="--format json",
        notes=[*failures, *summary.remarks],
    )


def rows(job: JobSummary) -> Iterator[list[Cell]]:
    """A row for each direction; a job without figures has one with its outcome."""
    from mbench.reports.text import interval

    for direction, found in job.figures.items():
        rate = found.bytes_per_second
        ends = (end and end / 1e6 for end in (rate.low, rate.high))
        waits = (found.latency_nanoseconds.get(name) for name in ("p50", "p95", "p99", "p99.9"))
        yield [
            job.name, direction, rate.value / 1e6, interval(*ends),
            round(found.operations_per_second.value),
            *(None if wait is None else wait.value / 1e6 for wait in waits), rate.replicates,
        ]  # fmt: skip
    if not job.figures:
        outcome = "-" if job.outcome == "ok" else job.outcome
        yield [job.name, outcome, *[None] * (len(COLUMNS) - 3), 0]
