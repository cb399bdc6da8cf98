"""Keywords, options and fields: the same names, the same values, the same messages."""

from __future__ import annotations

import inspect

import click
import pytest

import mbench
from mbench.api.call import BESIDES, Call, in_python
from mbench.cli import compare, fleet, run, train, verify
from mbench.cli.main import group
from mbench.cli.options import given_of
from mbench.errors import UsageError
from mbench.plugins.manager import Plugins
from mbench.spec.options import OPTIONS, switches

ON_OUTPUT = {"allow_inconclusive", "color", "dry_run", "explain", "fail_if_slower", "format",
             "help", "help_all", "layout", "log", "output"}  # fmt: skip
"""Options for the output of a result: Python functions return the result as a value instead."""
COMMANDS = [(compare.command, mbench.compare), (run.command, mbench.run),
            (verify.command, mbench.verify)]  # fmt: skip


@pytest.mark.parametrize(("command", "function"), COMMANDS)
def test_every_option_is_a_keyword_and_every_keyword_an_option(command, function, plugins):
    context = click.Context(command, obj=plugins, **group.context_settings)
    options = [one for one in command.get_params(context) if isinstance(one, click.Option)]
    names = {max(one.opts, key=len)[2:].replace("-", "_") for one in options}
    names -= ON_OUTPUT | {option.name for option in switches(plugins)}
    keywords = set(inspect.signature(function).parameters) - {"subject"}
    assert keywords | {"frameworks"} == names | {"frameworks"}
    assert keywords <= OPTIONS.keys() | BESIDES.keys()


@pytest.mark.parametrize(
    ("name", "function"),
    [("diagnose", mbench.diagnose), ("summary", mbench.fleet_summary),
     ("baseline", mbench.fleet_baseline)],
)  # fmt: skip
def test_so_it_is_of_fleets(name, function):
    options = [one for one in fleet.command.commands[name].params
               if isinstance(one, click.Option)]  # fmt: skip
    names = {max(one.opts, key=len)[2:].replace("-", "_") for one in options} - ON_OUTPUT
    keywords = set(inspect.signature(function).parameters) - {"folders", "output"}
    assert keywords == names


@pytest.mark.parametrize(("command", "function"), COMMANDS[:2])
def test_every_field_of_an_experiment_has_an_option(command, function):
    assert OPTIONS.keys() <= inspect.signature(function).parameters.keys()


def call(**keywords):
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(mbench.compare).parameters.items()
    }
    return Call.of(mbench.compare, {**defaults, "frameworks": "tiny,flaky", **keywords})


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"models": "zoo"}, ["--models=zoo"]),
        ({"models": ["resnet50", "bert-base"]}, ["--models=resnet50,bert-base"]),
        ({"batch_size": (8, 16)}, ["--batch-size=8,16"]),
        ({"batch_size": 8}, ["--batch-size=8"]),
        ({"until": 0.02}, ["--until=2%"]),
        ({"until": 0.07}, ["--until=7%"]),
        ({"until": "0.5%"}, ["--until=0.5%"]),
        ({"size": {"image_size": 96, "depth": 2}}, ["--size=image_size=96", "--size=depth=2"]),
        ({"budget": 60.0}, ["--budget=60.0"]),
        ({"mfu": False, "amp": True}, ["--amp", "--no-mfu"]),
        ({"allow_unequal": True}, ["--allow-unequal"]),
        ({"allow_unequal": False, "verify": True}, []),
        ({"budget": None, "seed": 3}, ["--seed=3"]),
        ({"results": "here", "quiet": True}, ["--results=here", "--quiet"]),
    ],
)
def test_keywords_mean_what_the_same_words_mean_on_the_command_line(keywords, words):
    asked = call(**keywords)
    assert asked.words == ("mbench", "compare", "--frameworks=tiny,flaky", *words)
    root = click.Context(group, obj=Plugins(), **group.context_settings)
    typed = compare.command.make_context("compare", list(asked.words[2:]), parent=root)
    assert given_of(typed) == asked.given
    assert typed.params["frameworks"] == asked.frameworks


def test_a_comma_within_a_framework_is_doubled_in_text_only():
    asked = call(frameworks=["tiny", "tiny:TINY_X=a,b"])
    assert asked.words[-1] == "--frameworks=tiny,tiny:TINY_X=a,,b"
    assert call(frameworks="tiny,tiny:TINY_X=a,,b").frameworks == asked.frameworks


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"until": 3}, "until: '3' has no unit: write 3%"),
        ({"until": 1.5}, "until: '150%' is not a percentage like 2% or 0.5%"),
        ({"threads": 0}, "threads: '0' is not a whole number of 1 or more"),
        ({"models": []}, "models: [] contains an empty item"),
        ({"batch_size": True}, "batch_size: 'True' is not a whole number of 1 or more, nor max"),
        ({"memory_limit": "6"}, "memory_limit: '6' is not an amount of memory like 6GiB or 500MB"),
        ({"device": "oven"}, "device: 'oven' is not one of auto, cpu, cuda"),
        ({"verify": 1.0}, "verify: 1.0 is not true or false"),
        ({"max_processes": 9}, "max_processes limits until; give both"),
        ({"steady": False, "steadiness": "steady"},
         "steady=False contradicts steadiness steady; give one of them"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line_that_names_the_keyword(keywords, said):
    with pytest.raises(UsageError) as error, in_python():
        call(**keywords).compare()
    assert str(error.value) == said


def test_an_editor_knows_the_keywords():
    parameters = inspect.signature(mbench.compare).parameters
    assert next(iter(parameters)) == "frameworks"
    assert parameters["until"].kind is inspect.Parameter.KEYWORD_ONLY
    assert parameters["provision"].default is True
    assert all(each.annotation is not each.empty for each in parameters.values())
    with pytest.raises(TypeError, match="unexpected keyword argument 'modells'"):
        mbench.compare("tiny", modells="x")


def test_so_it_is_of_training():
    options = [one for one in train.command.params if isinstance(one, click.Option)]
    names = {max(one.opts, key=len)[2:].replace("-", "_") for one in options} - ON_OUTPUT
    keywords = set(inspect.signature(mbench.train).parameters)
    assert keywords == names, keywords ^ names
