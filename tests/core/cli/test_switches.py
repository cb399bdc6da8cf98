"""Options that adapters add to a command: the switches of their compilers."""

from __future__ import annotations

from types import SimpleNamespace

import click

from mbench.cli import compare
from mbench.cli.grouped import WHOLE
from mbench.cli.main import group
from mbench.spec.options import switches


def test_each_switch_is_an_option_behind_compiler():
    adapters = {"one": SimpleNamespace(switches=("fuse",)),
                "two": SimpleNamespace(switches=("fuse", "go"))}  # fmt: skip
    found = SimpleNamespace(adapters=SimpleNamespace(unique=lambda: adapters))
    context = click.Context(compare.command, info_name="compare", obj=found,
                            **group.context_settings)  # fmt: skip
    names = [parameter.name for parameter in compare.command.get_params(context)]
    at = names.index("compiler")
    assert names[at + 1 : at + 3] == ["fuse", "go"]
    assert [option.name for option in switches(found)] == ["fuse", "go"]
    assert "--fuse / --no-fuse" not in compare.command.get_help(context)
    context.meta[WHOLE] = True
    assert "--fuse / --no-fuse" in compare.command.get_help(context)
