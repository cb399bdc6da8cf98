"""`mbench export`: the samples of runs as a table for other tools."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import click

from mbench.cli.completion import completer, runs
from mbench.cli.formats import format_options
from mbench.cli.options import results_option
from mbench.cli.output import check_writable, deliver
from mbench.console import counted, tell
from mbench.errors import MbenchError, UsageError, why
from mbench.files import opened, replacing

__all__ = ["command"]


@click.command("export")
@click.argument("run", nargs=-1, shell_complete=completer(runs))
@format_options("parquet", "csv", "jsonl", usual="parquet", of="the samples")
@click.option("--to", type=click.Choice(["superbench"]), default=None,
              help="Write a line of SuperBench's results-summary.jsonl for each node "
                   "instead.")  # fmt: skip
@results_option
def command(
    run: tuple[str, ...], format_: str, to: str | None, output: Path | None, results: Path
) -> None:
    """Write every timed block and single step of each RUN, or of all runs, as one row.

    RUN is the beginning of a run's name, or a path. The columns are those of mbench.load. This
    needs the extra "analysis", except with --to.

    \b
    Examples:
      mbench export --output samples.parquet
      mbench export 20260102-1504 --output samples.csv
      mbench export --format csv | head
      mbench export 20260102-1504 --to superbench --output results-summary.jsonl
    """
    from mbench.results.database import files_of
    from mbench.results.run import pick_run
    from mbench.results.samples import export

    if to is not None:
        export_superbench([pick_run(results, name) for name in run], results, output)
        return
    if output is None and format_ == "parquet":
        raise UsageError("parquet needs a file: give --output FILE, or --format csv",
                         option="--output")  # fmt: skip
    check_writable(output)
    files = files_of(*([pick_run(results, name) for name in run] or [results]), tell=tell)
    if output is None:
        with TemporaryDirectory() as folder:
            passing = Path(folder, "samples")
            export(files, passing, format_=format_)
            with opened(passing) as samples:
                click.echo(samples.read(), nl=False)
        return
    try:
        with replacing(output) as fresh:
            written = export(files, fresh, format_=format_)
    except OSError as error:
        raise MbenchError(f"cannot write {output}: {why(error)}") from None
    said = f"{counted(written, 'sample')} of {counted(len(files), 'run')}"
    tell(f"{said} in {output}")


def export_superbench(folders: list[Path], results: Path, output: Path | None) -> None:
    """Write results-summary.jsonl for some runs, or for all; warn about ambiguous names."""
    from mbench.fleet.superbench.runs import ambiguous, lines_of, nodes_of_runs
    from mbench.results.folder import find_runs

    check_writable(output)
    found = nodes_of_runs(folders or find_runs(results))
    if not found:
        raise UsageError(f"no runs in {results}", option="--results")
    if warning := ambiguous(name for metrics in found.values() for name in metrics):
        tell(f"warning: {warning}")
    deliver(lines_of(found), output)
    if output is not None:
        tell(f"{counted(len(found), 'node')} in {output}")
