"""Commands that are not imported until called: `mbench --help` needs one line about each."""

from __future__ import annotations

from importlib import import_module

import click

__all__ = ["COMMANDS", "LateCommand"]

COMMANDS = {
    "compare": "Measure frameworks against each other.",
    "run": "Measure one framework, or a suite.",
    "verify": "Prove that frameworks do equal work.",
    "train": "Train frameworks on the same task: do they learn alike, and how soon?",
    "show": "Show a run that was measured before.",
    "report": "Write runs as one HTML page.",
    "site": "Write many runs as a static site.",
    "check": "Say whether a run is fit to be published.",
    "diff": "Say what became slower from one run to another.",
    "explain": "Show where the difference between two frameworks comes from.",
    "calibrate": "Measure how much identical processes differ here.",
    "data": "Make and check folders of images, for --data.",
    "disk": "Measure the disk of a folder with fio.",
    "doctor": "Check whether this machine is fit for measurements.",
    "env": "Build, list and remove frameworks' environments.",
    "export": "Write every timed block and step as one row.",
    "fleet": "Find the nodes of a fleet that are slow, wrong, missing or different.",
    "help": "Show the help of mbench, or of a command.",
    "history": "Show how every case changed from run to run.",
    "list": "List frameworks, models, operators, suites, tasks, runs and more.",
    "new": "Start an adapter, a model or a task of your own.",
}
"""Each module of `mbench.cli` that has a command, in help order, with its line in the help."""


class LateCommand(click.Command):
    """A placeholder for a command of `mbench.cli`, with its name and its line in the help."""

    def load(self) -> click.Command:
        command: click.Command = import_module(f"mbench.cli.{self.name}").command
        return command
