"""Suites as files: what they say, and where they are wrong."""

from __future__ import annotations

import pytest

from mbench.errors import UsageError
from mbench.files import line_of
from mbench.spec.suite import find_suite, suite_names

GOOD = """\
title = "two sweeps"
frameworks = ["tiny", "flaky"]

[protocol]
processes = 2

[[sweep]]
models = ["tiny-model"]  # the first
batch-size = [1, "max"]

[[sweep]]
"models" = ["tiny-model"]
mode = ["inference"]
"""


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "my.toml"
        path.write_text(text)
        return find_suite(str(path))

    return read


def test_a_suite_is_its_tables(read):
    suite = read(GOOD)
    assert (suite.title, suite.frameworks) == ("two sweeps", ("tiny", "flaky"))
    assert suite.protocol == {"processes": 2}
    assert suite.sweeps[0] == {"models": ["tiny-model"], "batch-size": [1, "max"]}
    assert suite.sweeps[1] == {"models": ["tiny-model"], "mode": ["inference"]}


def test_what_is_no_suites_name_is_none():
    assert find_suite("tiny") is None


@pytest.mark.parametrize("name", suite_names())
def test_suites_come_with_mbench(name):
    assert name in suite_names()
    suite = find_suite(name)
    assert suite.sweeps
    assert suite.title
    assert suite.frameworks == (), "no framework is named in the core"


@pytest.mark.parametrize(
    ("table", "number", "key", "line"),
    [
        ("", 0, "frameworks", 2),
        ("protocol", 0, "processes", 5),
        ("sweep", 0, "models", 8),
        ("sweep", 0, "batch-size", 9),
        ("sweep", 1, "models", 12),
        ("sweep", 1, "mode", 13),
        ("", 0, "sweep", 7),
        ("sweep", 0, "mode", None),
        ("sweep", 2, "models", None),
    ],
)
def test_the_line_of_a_key(table, number, key, line):
    assert line_of(GOOD, key, table=table, number=number) == line


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("title = 'x'\nsweeps = []\n", "my.toml, line 2, sweeps: unknown key; did you mean sweep?"),
        ("frameworks = 'tiny'\n", "line 1, frameworks: should be a list"),
        ("title = 3\n", "line 1, title: should be text"),
        ("\nprotocol = 'dlperf'\n", "line 2, protocol: should be a table: [protocol]"),
        ("[sweep]\nmodels = ['x']\n", "line 1, sweep: should be a list of tables: [[sweep]]"),
        ("title = 'x'\n", "measures nothing: it has no [[sweep]]"),
        ("title = 'x\n", "is not valid TOML: "),
    ],
)
def test_an_impossible_suite_names_its_line_and_key(read, text, words):
    with pytest.raises(UsageError) as caught:
        read(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    with pytest.raises(UsageError, match="No such file"):
        find_suite(str(tmp_path / "none.toml"))
    (tmp_path / "bytes.toml").write_bytes(b"title = '\xff'")
    with pytest.raises(UsageError, match="line 1: byte 0xff is not UTF-8: save it as UTF-8"):
        find_suite(str(tmp_path / "bytes.toml"))
