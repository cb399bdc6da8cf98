"""`mbench disk`: how fast a disk reads and writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mbench.cli.complete import completer
from mbench.cli.formats import format_options
from mbench.cli.options import COMMAS, MEMORY, SECONDS, SIZE
from mbench.cli.output import check_writable, deliver
from mbench.cli.screen import color_option
from mbench.console import tell
from mbench.errors import MbenchError, UsageError
from mbench.machine.disk.jobs import JOBS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

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
            raise UsageError(f"there is no job {name!r}; there are {', '.join(JOBS)}",
                             option="--jobs")  # fmt: skip
    return tuple(dict.fromkeys(chosen))


@click.command("disk")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--jobs", type=COMMAS, default=tuple(JOBS), callback=known,
              show_default="all", shell_complete=completer(lambda _: JOBS, many=True),
              help=f"What to measure: {', '.join(JOBS)}.")  # fmt: skip
@click.option("--size", type=MEMORY, default="4GiB", show_default=True,
              help="Size of the file that is read and written.")  # fmt: skip
@click.option("--seconds", type=SECONDS, default=5.0, show_default=True,
              help="Timed part of a job in a round; a sixth of it goes before.")  # fmt: skip
@click.option("--rounds", type=SIZE, default=5, show_default=True,
              help="Rounds of all jobs; an interval takes three.")  # fmt: skip
@click.option("--buffered", is_flag=True,
              help="Go through the page cache, which is passed by otherwise.")  # fmt: skip
@format_options("table", "json", "jsonl")
@click.option("--layout", type=click.Choice(["superbench"]), default=None,
              help="Give the figures SuperBench's names: as a table, a baseline (json), or a line "
                   "of results-summary.jsonl.")  # fmt: skip
@color_option
@click.option("-q", "--quiet", is_flag=True, help="Show the report and nothing on the way.")
@click.pass_context
def command(
    context: click.Context, folder: Path, jobs: tuple[str, ...], size: int, seconds: float,
    rounds: int, buffered: bool, format_: str, output: Path | None, layout: str | None, quiet: bool,
) -> None:  # fmt: skip
    """Measure the disk that a folder lies on, by fio: bandwidth, IOPS and latencies.

    A file is made in the folder, read and written past the page cache, sequentially and at random.
    It has no name, and is gone with the command, however that ends.

    \b
    Examples:
      mbench disk .
      mbench disk /data --jobs seq_read,rand_read --size 16GiB
      mbench disk /data --format json --output disk.json
      mbench disk /data --layout superbench --output results-summary.jsonl
    """
    from mbench.machine.disk.measure import measure

    check_writable(output)
    if layout is None and format_ == "jsonl":
        raise UsageError("jsonl is written with --layout superbench alone", option="--format")
    if layout and buffered:
        raise UsageError(f"{layout} has no names for what memory does: leave out --buffered")
    document = measure(folder, jobs, size=size, seconds=seconds, rounds=rounds,
                       direct=not buffered, report=quietly if quiet else tell)  # fmt: skip
    deliver(written(document, layout=layout, format_=format_), output)
    if document["status"] == "interrupted":
        tell("interrupted; shown are the rounds that were whole")
        context.exit(130)
    context.exit(1 if any(job["outcome"] != "ok" for job in document["jobs"]) else 0)


def written(document: dict[str, Any], *, layout: str | None, format_: str) -> RenderableType:
    """The document in a format, by mbench's own names or a layout's.

    Raises MbenchError for figures of memory, for which a layout has no names.
    """
    if layout is not None:
        from mbench.machine.disk.test_file import OF_MEMORY
        from mbench.reports.compat_formats import superbench, superbench_disk

        if document["mount"] and document["mount"]["kind"] in OF_MEMORY:
            raise MbenchError(
                f"{layout} has no names for figures of memory: name a folder on a disk"
            )
        node = document["system"]["hostname"]
        return superbench.written(superbench_disk.metrics(document), node=node, format_=format_)
    return json.dumps(document, indent=2) + "\n" if format_ == "json" else table_of(document)


def quietly(_: str) -> None:
    pass


def table_of(document: dict[str, Any]) -> RenderableType:
    """The document as a table, and what there is to say of it."""
    from mbench.reports.grid import Grid

    mount = document["mount"] or {"kind": "unknown", "device": "unknown"}
    said = [f"{job['name']}: {job['outcome']}, {job['reason']}"
            for job in document["jobs"] if job["outcome"] != "ok"]  # fmt: skip
    return Grid(
        f"{document['folder']} on {mount['kind']} of {mount['device']}: a file of "
        f"{document['size_bytes'] / 2**20:,.0f} MiB, by {document['tool']}",
        COLUMNS,
        [row for job in document["jobs"] for row in rows(job)],
        numeric=frozenset({"95 % interval"}),
        spare=("p95 ms", "p50 ms", "p99.9 ms"),
        all_in="--format json",
        notes=[*said, *document["remarks"]],
    )


def rows(job: dict[str, Any]) -> Iterator[list[Any]]:
    """A row for each direction; one that says how the job ended where it has no figures."""
    from mbench.reports.text import interval

    for direction, found in job["figures"].items():
        rate = found["bytes_per_second"]
        ends = (end and end / 1e6 for end in (rate["low"], rate["high"]))
        waits = (found["latency_nanoseconds"].get(name) for name in ("p50", "p95", "p99", "p99.9"))
        yield [
            job["name"], direction, rate["value"] / 1e6, interval(*ends),
            round(found["operations_per_second"]["value"]),
            *(wait and wait["value"] / 1e6 for wait in waits), rate["replicates"],
        ]  # fmt: skip
    if not job["figures"]:
        yield [
            job["name"],
            "-" if job["outcome"] == "ok" else job["outcome"],
            *[None] * (len(COLUMNS) - 3),
            0,
        ]
