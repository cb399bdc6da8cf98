"""Defaults from a file: what they mean, what wins over them, and that no key is ignored."""

from __future__ import annotations

from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from mbench.cli import measure
from mbench.cli.main import group
from mbench.errors import UsageError

OWN, SHARED = "mbench.toml", "pyproject.toml"
TINY = ["compare", "tiny", "flaky", "--models", "tiny-model", "--device", "cpu"]


@pytest.fixture
def orders(tmp_path, monkeypatch):
    """Runs a command in a folder with a file of defaults; returns what it would measure and how."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MBENCH_RESULTS", raising=False)
    made = []

    def foresee(checked, execution):
        made.append(SimpleNamespace(**vars(checked), **vars(checked.experiment), **vars(execution)))

    monkeypatch.setattr(measure, "foresee", foresee)

    def orders(text, *words, name=OWN):
        (tmp_path / name).write_text(text)
        found = CliRunner().invoke(group, [*words, "--dry-run"])
        if found.exception and not isinstance(found.exception, SystemExit):
            raise found.exception
        assert found.exit_code == 0, found.output
        return made[-1]

    return orders


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (OWN, "seed = 3\n[compare]\nprocesses = 4\nmfu = false\nbatch-size = [8, 'max']\n"),
        (OWN, "seed = 3\nmfu = false\n[compare]\nprocesses = 4\nbatch-size = '8,max'\n"
              "[run]\nseed = 9\n"),
        (SHARED, "[project]\nname = 'x'\n[tool.mbench]\nseed = 3\n[tool.mbench.compare]\n"
                 "processes = 4\nmfu = false\nbatch-size = [8, 'max']\n"),
    ],
)  # fmt: skip
def test_keys_are_options_of_all_commands_or_of_one(orders, name, text):
    order = orders(text, *TINY, name=name)
    assert (order.protocol.seed, order.protocol.processes, order.checks.mfu) == (3, 4, False)
    assert [one.largest_batch for one in order.comparisons] == [False, True]


def test_what_is_typed_wins_and_what_was_meant_is_recorded(orders):
    order = orders("processes = 4\n[compare]\nmfu = false\n", *TINY, "--processes", "6")
    assert order.protocol.processes == 6
    assert order.command[-1] == "--no-mfu"
    assert "--processes=4" not in order.command


def test_frameworks_may_be_a_default(orders):
    text = "[compare]\nframeworks = ['tiny', 'flaky']\nmodels = 'tiny-model'\ndevice = 'cpu'\n"
    (comparison,) = orders(text, "compare").comparisons
    assert [entry.label for entry in comparison.entries] == ["tiny", "flaky"]
    (comparison,) = orders(text, "compare", "tiny", "tiny").comparisons
    assert [entry.label for entry in comparison.entries] == ["tiny#1", "tiny#2"]


def test_a_project_without_defaults_has_none(orders):
    assert orders("# [tool.mbench]\n", *TINY, name=SHARED).protocol.seed == 0


def test_an_effort_that_is_typed_wins_over_what_the_file_says_of_effort(orders):
    text = "[compare]\nprocesses = 9\nbudget = 999\nblock = 0.5\n"
    protocol = orders(text, *TINY, "--fast").protocol
    assert (protocol.processes, protocol.budget_seconds, protocol.block_seconds) == (3, 120, 0.5)
    assert orders("fast = true", *TINY).protocol.processes == 3
    given = ([], ["--fast"], ["--fast", "--mfu"], ["--no-mfu"])
    assert [orders("", *TINY, *words).checks.mfu for words in given] == [True, False, True, False]
    assert orders("fast = true", *TINY, "--rigorous").protocol.processes == 10


def test_a_variable_wins_over_the_file(orders, monkeypatch, tmp_path):
    text = f"results = '{tmp_path / 'filed'}'\n"
    assert orders(text, *TINY).results == tmp_path / "filed"
    monkeypatch.setenv("MBENCH_RESULTS", str(tmp_path / "said"))
    assert orders(text, *TINY).results == tmp_path / "said"
    typed = orders(text, *TINY, "--results", str(tmp_path / "typed"))
    assert typed.results == tmp_path / "typed"


def test_mbenchs_own_file_is_the_one_and_no_other_is_read(orders, tmp_path):
    (tmp_path / SHARED).write_text("[tool.mbench]\nseed = 9\n")
    assert orders("seed = 3", *TINY).protocol.seed == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seeed = 3", "mbench.toml, line 1, seeed: unknown key; did you mean seed?"),
        ("[compare]\nmodell = 3", "mbench.toml, line 2, modell: unknown key; did you mean models"),
        ("[comparee]\nx = 3", "mbench.toml, line 1, comparee: unknown command; did you mean comp"),
        ("[list]\nmodels = 'x'", "mbench.toml, line 2, models: unknown key"),
        ("[compare]\noutput = 'x'", "mbench.toml, line 2, output: applies to a single call"),
        ("[run]\nprocesses = 'x'", "mbench.toml, line 2, processes: 'x' is not a whole number"),
        ("[run]\nmfu = 3", "mbench.toml, line 2, mfu: 3 is not true or false"),
        ("[run]\nuntil = 2", "mbench.toml, line 2, until: '2' has no unit: write 2%"),
        ("[run", "mbench.toml is not valid TOML"),
    ],
)
def test_what_is_wrong_is_one_line_with_its_place_whatever_the_command(orders, text, said):
    with pytest.raises((UsageError, click.UsageError), match=said) as error:
        orders(text, "compare")
    assert "\n" not in str(error.value)


def test_verbose_tells_where_a_default_came_from(orders, tmp_path):
    orders("[compare]\nprocesses = 4\n", *TINY)
    found = CliRunner().invoke(group, [*TINY, "--dry-run", "-v"])
    assert "mbench: defaults from mbench.toml: --processes=4\n" in found.stderr
