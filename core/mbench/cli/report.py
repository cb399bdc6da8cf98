"""`mbench report`: runs as one page to look at and to send."""

from __future__ import annotations

from pathlib import Path

import click

from mbench.cli.completion import completer, runs
from mbench.cli.formats import by_ending
from mbench.cli.options import results_option
from mbench.cli.output import check_writable, deliver, report_cut
from mbench.console import tell

__all__ = ["command"]


@click.command("report")
@click.argument("run", nargs=-1, shell_complete=completer(runs))
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False),
              default="report.html", show_default=True, help="The file to write.")  # fmt: skip
@click.option("--history", is_flag=True,
              help='Also draw trends over all stored runs; needs the "analysis" '
                   "extra.")  # fmt: skip
@results_option
def command(run: tuple[str, ...], output: Path, history: bool, results: Path) -> None:
    """Write all RUNs, or the latest, as one HTML page.

    RUN is the beginning of a run's name, or a path. The page is one file, needs no network, and
    shows every number in a table as well as in its chart.

    \b
    Examples:
      mbench report
      mbench report 20260102 20260109 --output both.html
      mbench report --history
    """
    from mbench.explain.analysis import breakdown_of, load
    from mbench.explain.page import section
    from mbench.explain.states import explained
    from mbench.reports.html import page
    from mbench.results.run import pick_run
    from mbench.results.summary import analyse

    check_writable(output)
    by_ending(output, chosen=None, known=("html",), usual="html")
    summaries, more = [], {}
    for name in run or (None,):
        loaded = load(pick_run(results, name))
        report_cut(loaded)
        summaries.append(analyse(loaded))
        if breakdown_of(loaded) and (found := section(explained(loaded))):
            more[loaded.id] = [found]
    trends = None
    if history:
        from mbench.results.database import files_of
        from mbench.results.history import trace

        trends = trace(files_of(results, tell=tell))
    deliver(page(summaries, more=more, history=trends), output)
    tell(f"wrote {output}")
