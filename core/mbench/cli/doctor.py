"""`mbench doctor`: whether this machine is fit to measure on."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from mbench.cli.options import plugins, results_option
from mbench.cli.output import print_table
from mbench.cli.screen import color_option
from mbench.contract.device import FAIL, WARN

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["command"]

STYLES = {WARN: "disturbed", FAIL: "failed"}


@click.command("doctor")
@results_option
@click.option("--format", "format_", type=click.Choice(["table", "json"]), default="table",
              show_default=True, help="Format of the report.")  # fmt: skip
@color_option
@click.pass_context
def command(context: click.Context, results: Path, format_: str) -> None:
    """Check whether this machine is fit for measurements, and how to improve it.

    Looks at clocks, other load, limits, threads, memory, GPUs and programs that frameworks need,
    and changes nothing. The exit code is 0 unless something prevents measurements.

    \b
    Examples:
      mbench doctor
      mbench doctor --format json
    """
    from mbench.machine.doctor.examine import examine

    adapters = plugins(context).adapters.unique()
    checks = list(examine(results=results, adapters=adapters.values()))
    if format_ == "json":
        click.echo(json.dumps({"schema": 1, "checks": [asdict(c) for c in checks]}, indent=2))
    else:
        from rich.text import Text

        rows = [
            (Text(c.status, STYLES.get(c.status, "")), c.name, c.found, c.hint and f"-> {c.hint}")
            for c in checks
        ]
        print_table(("state", "check", "found", "what to do"), rows)
    context.exit(1 if any(check.status == FAIL for check in checks) else 0)
