"""Keywords are options: the same names, the same checks, the same words."""

from __future__ import annotations

import inspect
from pathlib import Path

import click
import pytest

from mbench.api import keywords as module
from mbench.api.keywords import keywords, takes, typed
from mbench.cli import compare, run, verify
from mbench.errors import UsageError
from mbench.plugins.manager import Plugins

COMMANDS = pytest.mark.parametrize("command", [compare.command, run.command, verify.command])


def names(command, context):
    """Every option of a command by its long spelling."""
    options = [p for p in command.get_params(context) if isinstance(p, click.Option)]
    return {max(option.opts, key=len)[2:].replace("-", "_") for option in options}


@COMMANDS
def test_every_option_is_a_keyword_unless_it_is_about_output(command, plugins):
    every = names(command, click.Context(command, obj=plugins))
    assert every - set(keywords(command, plugins)) == every & set(module.ON_OUTPUT)


def test_what_is_about_output_are_options_of_compare(plugins):
    every = names(compare.command, click.Context(compare.command, obj=plugins))
    assert set(module.ON_OUTPUT) <= every


def test_a_comma_within_a_framework_is_doubled():
    asked = typed(compare.command, {"frameworks": ["tiny", "tiny:TINY_X=a,b"]})
    assert asked.words[-1] == "--frameworks=tiny,tiny:TINY_X=a,,b"
    assert asked.context.params["frameworks"] == ("tiny", "tiny:TINY_X=a,b")


@pytest.mark.parametrize(
    ("options", "words"),
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
        ({"mfu": False, "amp": True}, ["--no-mfu", "--amp"]),
        ({"allow_unequal": True}, ["--allow-unequal"]),
        ({"allow_unequal": False}, []),
        ({"results": Path("here")}, ["--results=here"]),
        ({"budget": None, "seed": 3}, ["--seed=3"]),
    ],
)
def test_values_are_spelled_as_they_would_be_typed(options, words):
    asked = typed(compare.command, {"frameworks": ["tiny", "flaky"], **options})
    assert asked.words == ("mbench", "compare", "--frameworks=tiny,flaky", *words)


def test_what_is_typed_means_what_the_command_line_means():
    root = click.Context(click.Group("mbench"), obj=Plugins())
    line = ["--frameworks", "tiny,flaky", "--until", "2%", "--batch-size", "8,max", "--no-clip"]
    by_hand = compare.command.make_context("compare", line, parent=root).params
    by_keyword = typed(
        compare.command,
        {"frameworks": "tiny,flaky", "until": 0.02, "batch_size": [8, "max"], "clip": False},
    )
    assert by_keyword.context.params == by_hand


def test_an_argument_is_no_option_whatever_it_begins_with():
    asked = typed(run.command, {}, "--help")
    assert asked.context.params["subject"] == "--help"
    assert asked.words[-2:] == ("--", "--help")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"modells": "x"}, r"mbench.compare takes no 'modells'; did you mean models"),
        ({"output": "x"}, r"mbench.compare takes no 'output'"),
        ({"until": 3}, r"'3' has no unit: write 3%"),
        ({"until": 1.5}, r"'150%' is not a percentage"),
        ({"threads": 0}, r"--threads.*not a whole number"),
        ({"models": []}, r"'' holds an empty item"),
        ({"batch_size": True}, r"'True' is not a whole number"),
    ],
)
def test_what_is_wrong_is_one_line(options, said):
    with pytest.raises(UsageError, match=said) as error:
        typed(compare.command, {"frameworks": "tiny,flaky", **options})
    assert "\n" not in str(error.value)


def test_a_function_shows_the_options_as_its_keywords():
    @takes(compare.command)
    def function(frameworks, **options):
        return frameworks, options

    parameters = inspect.signature(function).parameters
    assert next(iter(parameters)) == "frameworks"
    assert set(parameters) == set(keywords(compare.command))
    assert parameters["seed"].default == 0
    assert parameters["models"].default is None
    assert parameters["models"].kind is inspect.Parameter.KEYWORD_ONLY
