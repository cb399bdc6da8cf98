"""The options that say how something is measured, and which course a command takes."""

from __future__ import annotations

import click

from mbench.cli.complete import completer, protocols, runs
from mbench.cli.options import (
    MEMORY,
    SECONDS,
    SIZE,
    Percent,
    Whole,
    apply,
    hosts_option,
    launcher_option,
    provision_option,
    timeout_option,
)
from mbench.errors import UsageError

__all__ = ["course_options", "protocol_options", "resume_option"]


def one_effort(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> str | None:
    if len(set(given)) > 1:
        raise UsageError(f"--{' and --'.join(given)} contradict each other; give one of them")
    return given[0] if given else None


protocol_options = apply(
    [
        click.option("--protocol", "protocol_name", default="adaptive", show_default=True,
                     shell_complete=completer(protocols),
                     help="How to measure: adaptive, or as published: dlperf, superbench, nvidia."),
        click.option("--fast", "effort", flag_value="fast", multiple=True, callback=one_effort,
                     help="A first look: 3 processes within 120 s, and no MFU. What is given "
                          "beside it wins (adaptive)."),
        click.option("--rigorous", "effort", flag_value="rigorous", multiple=True,
                     callback=one_effort,
                     help="To be published: 10 processes or more, until all intervals are within "
                          "2%, in at most 3600 s. What is given beside it wins (adaptive)."),
        click.option("--processes", type=SIZE, default=None,
                     help="Sets of fresh worker processes; the interval is built over them.  "
                          "[default: 5; dlperf 7, superbench and nvidia 1]"),
        click.option("--rounds", type=SIZE, default=None,
                     help="Blocks per worker (adaptive).  [default: as many as the budget allows, "
                          "3 to 30]"),
        click.option("--builds", type=SIZE, default=None,
                     help="Times that each process prepares its case anew, its rounds shared out "
                          "(adaptive).  [default: 1]"),
        click.option("--block", type=SECONDS, default=None,
                     help="Seconds that a block takes, one step at least (adaptive).  "
                          "[default: 0.25]"),
        click.option("--budget", type=SECONDS, default=None,
                     help="Seconds that one comparison may take (adaptive).  "
                          "[default: 160]"),
        click.option("--until", type=Percent(), default=None, metavar="PERCENT",
                     help="Add processes until all intervals are within plus or minus so much, "
                          "or the budget is spent (adaptive)."),
        click.option("--max-processes", type=SIZE, default=None,
                     help="Most sets of processes with --until.  "
                          "[default: 30]"),
        click.option("--steps", type=SIZE, default=None,
                     help="Steps to time (published protocols).  "
                          "[default: dlperf 100, superbench 2048, nvidia 500 per epoch]"),
        click.option("--warmup-steps", type=SIZE, default=None,
                     help="Steps before them (published protocols).  "
                          "[default: dlperf 20, superbench 64]"),
        click.option("--epochs", type=SIZE, default=None,
                     help="Epochs of --steps each, those of warm-up among them (published "
                          "protocols).  [default: nvidia 3, others 1]"),
        click.option("--warmup-epochs", type=Whole(min=0), default=None,
                     help="Epochs that are not timed (published protocols).  "
                          "[default: nvidia 1, others 0]"),
        click.option("--duration", type=SECONDS, default=None,
                     help="Seconds after which an epoch ends, whichever comes first (published "
                          "protocols)."),
        click.option("--seed", type=Whole(min=0), default=0, show_default=True,
                     help="Seed of weights, data and the order of rounds."),
        timeout_option,
        click.option("--memory-limit", type=MEMORY, default=None, metavar="SIZE",
                     help="Most memory of a worker, on CUDA of the GPU's, like 6GiB.  "
                          "[default: nearly all that is free, on CUDA its share of it]"),
        provision_option,
        launcher_option,
        hosts_option,
        click.option("--mfu/--no-mfu", default=None,
                     help="Measure what the machine can do at most, which MFU is a share of.  "
                          "[default: mfu, but not with --fast]"),
        click.option("--verify/--no-verify", default=True, show_default=True,
                     help="Prove equal work before it is timed; proofs are remembered."),
        click.option("--allow-unequal", is_flag=True,
                     help="Measure and compare even where the proof fails."),
    ]
)  # fmt: skip

resume_option = click.option(
    "--resume", default=None, metavar="RUN", shell_complete=completer(runs),
    help="Measure what RUN lacks, which the same command began.",
)  # fmt: skip

course_options = apply(
    [
        resume_option,
        click.option("--dry-run", is_flag=True,
                     help="Print the cases and how long they may take; measure nothing."),
    ]
)  # fmt: skip
