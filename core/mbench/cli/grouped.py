"""Commands with many options: help in groups, the usual options first and all with --help-all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["WHOLE", "GroupedCommand"]

WHOLE = "mbench.help-all"
"""Key in a context's `meta`: whether its help shows all options."""
WHAT, EXPERT, HELP = "What", "Expert", "Help"
GROUPS: Mapping[str, Sequence[str]] = {
    WHAT: ("frameworks", "models", "mode", "batch_size", "amp", "precision", "tier", "compiler",
           "image_size", "sequence_length", "prompt_length", "new_tokens",
           "size", "operators", "clip", "accumulate", "checkpoint", "data",
           "loaders", "storage"),
    "How long": ("fast", "rigorous", "budget", "until", "processes", "max_processes", "resume",
                 "dry_run"),
    "Where": ("device", "threads", "scale", "launcher", "hosts", "provision", "memory_limit"),
    "Equal work": ("verify", "allow_unequal", "quick", "fresh", "locate"),
    "Output": ("fail_if_slower", "allow_inconclusive", "metric", "explain", "kernels", "output",
               "format_", "layout", "exporter", "results", "verbosity", "color"),
    EXPERT: ("protocol", "rounds", "builds", "block", "seed", "steadiness", "steady",
             "single_steps", "warmup_steps", "steps", "epochs", "warmup_epochs", "duration",
             "timeout", "mfu", "flops"),
    HELP: ("help_all", "help"),
}  # fmt: skip
"""Names of parameters, in help order. Options that plugins add come last in the group WHAT."""
PLACES = {
    name: (place, group) for group, names in GROUPS.items() for place, name in enumerate(names)
}
WIDTH = 30
"""Width of the options' column, at which click wraps it."""


def show_all(context: click.Context, _: click.Parameter, chosen: bool) -> None:
    if chosen and not context.resilient_parsing:
        context.meta[WHOLE] = True
        click.echo(context.get_help(), color=context.color)
        context.exit()


class GroupedCommand(click.Command):
    """A command whose help shows the options in `usual`, by the names of their parameters.

    Options in `refused` are shown nowhere: the command takes them only to say why not.
    """

    def __init__(
        self, *arguments: Any, usual: Sequence[str] = (), refused: Sequence[str] = (), **named: Any
    ) -> None:
        super().__init__(*arguments, **named)
        self.usual, self.refused = usual, refused
        self.help_all = click.Option(
            ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=show_all,
            help="Show all options.",
        )  # fmt: skip

    def get_params(self, context: click.Context) -> list[click.Parameter]:
        return [*super().get_params(context), self.help_all]

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """One section per group; with --help, only the usual options."""
        whole = bool(context.meta.get(WHOLE))
        found: dict[str, list[tuple[int, tuple[str, str]]]] = {group: [] for group in GROUPS}
        for option in self.get_params(context):
            name = "help" if "--help" in option.opts else option.name or ""
            place, group = PLACES.get(name, (len(PLACES), WHAT))
            record = option.get_help_record(context) if isinstance(option, click.Option) else None
            if name in self.refused:
                continue
            if record and (whole or group == HELP or name in self.usual):
                found[group].append((place, record))
        widest = max(len(record[0]) for rows in found.values() for _, record in rows)
        for group, rows in found.items():
            if rows:
                ordered = [record for _, record in sorted(rows, key=lambda row: row[0])]
                with formatter.section(group):
                    formatter.write_dl([(self.padded(words, widest), says)
                                        for words, says in ordered])  # fmt: skip

    @staticmethod
    def padded(words: str, widest: int) -> str:
        """Makes the sections' columns equally wide."""
        return words.ljust(min(widest, WIDTH))
