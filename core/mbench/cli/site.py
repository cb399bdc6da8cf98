"""`mbench site`: many runs as a static site."""

from __future__ import annotations

from pathlib import Path

import click

from mbench.cli.options import results_option
from mbench.console import counted, tell
from mbench.errors import UsageError

__all__ = ["command"]

MOST_TOLD = 10


@click.command("site")
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, metavar="DIR", type=click.Path(path_type=Path),
              help="The folder to write: a new or empty one, or a site to replace.")  # fmt: skip
@click.option("--title", default="Deep-learning frameworks, measured by mbench", show_default=True,
              help="Title of the site.")  # fmt: skip
@click.option("--url", default="", help="The site's address, for links in its feed.")
@results_option
def command(runs: tuple[Path, ...], output: Path, title: str, url: str, results: Path) -> None:
    """Write all RUNS, or all stored ones, as a static site.

    RUNS are runs' files, runs' folders, or folders with any of these in them. The site needs no
    server: its first page compares frameworks by model and machine, and others show each model,
    framework, machine and run, with the raw files. Runs that cannot be read are listed there.

    \b
    Examples:
      mbench site --output site
      mbench site submissions --output public --title "Our machines"
    """
    from mbench.site.build import build

    if url and not url.startswith(("https://", "http://")):
        raise UsageError(f"{url!r} is not an address such as https://example.org/bench",
                         option="--url")  # fmt: skip
    built = build(runs or (results,), output, title=title, url=url)
    for one in built.left_out[:MOST_TOLD]:
        tell(f"left out: {one.reason}")
    if more := len(built.left_out[MOST_TOLD:]):
        tell(f"left out: {more} more, listed in {output / 'results.json'}")
    tell(f"wrote {output / 'index.html'}: {counted(len(built.runs), 'run')}")
