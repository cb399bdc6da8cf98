"""What `--dry-run` prints: the cases that would be measured, and how long that may take."""

from __future__ import annotations

import socket
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from mbench.commands.options import plugins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.plan.plan import Sweep

__all__ = ["foresee"]


def foresee(context: click.Context, sweeps: Sequence[Sweep], options: dict[str, Any]) -> None:
    """Print every comparison, its unsupported cases with the reason, and the sum."""
    from mbench.plan.estimate import estimate, span
    from mbench.plan.plan import plan_all
    from mbench.plan.protocol import Counted, choose
    from mbench.results.past import past_step_seconds

    protocol = choose(options["protocol_name"], options)
    comparisons = plan_all(sweeps, plugins(context))
    entries = [entry for comparison in comparisons for entry in comparison.entries]
    known = past_step_seconds(
        options["results"],
        hostname=socket.gethostname(),
        cases={entry.number: (entry.spec.text, asdict(entry.case)) for entry in entries},
    )
    total, unknown = 0.0, False
    for comparison in comparisons:
        seconds, words = estimate(comparison, protocol, step_seconds=known)
        total, unknown = total + (seconds or 0.0), unknown or seconds is None
        frameworks = ", ".join(
            f"{entry.label} ({entry.case.compiler})" for entry in comparison.entries
        )
        if comparison.best_compiler:
            frameworks = ", ".join(entry.label for entry in comparison.entries)
        click.echo(f"{comparison.title}: {frameworks}: {words}")
        for entry in comparison.entries:
            if not entry.support.supported:
                click.echo(f"  {entry.label}: unsupported: {entry.support.reason}")
    lacking = sum(not entry.support.supported for entry in entries)
    said = f"{len(comparisons)} comparisons, {len(entries)} cases"
    said += f", {lacking} of them unsupported" if lacking else ""
    if not isinstance(protocol, Counted):
        said += f": at most {span(total)}"
    elif not unknown:
        said += f": about {span(total)}"
    click.echo(f"{said}; environments, proofs and searches not included")
