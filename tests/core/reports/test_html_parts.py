"""What the page calls frameworks: by their titles, without the paths of their Pythons."""

from __future__ import annotations

import re

import pytest
from summaries import case, summary_of

from mbench.reports.html import facts
from mbench.reports.html.parts import titled


@pytest.mark.parametrize(
    ("labels", "called"),
    [
        (("torch",), ["Title"]),
        (("torch==2.12.0", "torch==2.13.0"), ["Title 2.12.0", "Title 2.13.0"]),
        (("torch@/a/python",), ["Title"]),
        (("torch@/a/python", "torch@/b/python"), ["Title@/a/python", "Title@/b/python"]),
        (("torch#1", "torch#2"), ["Title#1", "Title#2"]),
        (("torch@/a/python#1", "torch@/a/python#2"), ["Title#1", "Title#2"]),
        (("torch@/a/python", "torch@/a/python:inductor"), ["Title", "Title:inductor"]),
        (("mine",), ["mine"]),
    ],
)
def test_frameworks_are_called_by_their_names(labels, called):
    cases = [case(framework="torch", framework_title="Title", label=label,
                  spec=re.split("[#:]", label)[0]) for label in labels]  # fmt: skip
    assert [one.label for one in titled(summary_of(*cases)).cases] == called


def test_an_arm_with_a_name_of_its_own_keeps_it():
    of = {"framework": "torch", "framework_title": "Title"}
    cases = [
        case(label="old", spec="torch@/a/python", **of),
        case(label="torch", spec="torch", **of),
    ]
    found = titled(summary_of(*cases)).cases
    assert [one.label for one in found] == ["old", "Title"]


@pytest.mark.parametrize(
    ("label", "called"), [("torch", "Title"), ("torch:inductor", "Title:inductor")]
)
def test_a_label_without_the_path_of_its_python_has_the_title(label, called):
    own = case(framework="torch", framework_title="Title", label=label, spec="torch@/a::b/python")
    assert [one.label for one in titled(summary_of(own)).cases] == [called]


@pytest.mark.parametrize("option", [["-o", "/a/x.html"], ["--output", "/a/x"], ["--results=/a"]])
def test_where_an_author_wrote_to_is_left_out(option):
    words = ["mbench", "compare", *option, "tiny", "flaky"]
    assert facts.portable(words)[0] == ["mbench", "compare", "tiny", "flaky"]


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("tiny@/a/python:fp64,flaky", "tiny:fp64,flaky"),
        ("--frameworks=tiny@~/a/python,flaky@./b", "--frameworks=tiny,flaky"),
        ("tiny@/a::b/python:X=/c,flaky:Y=a@b/c", "tiny:X=/c,flaky:Y=a@b/c"),
    ],
)
def test_the_path_of_a_python_is_left_out_and_its_settings_are_not(typed, shown):
    assert facts.portable(["mbench", "compare", "--frameworks", typed])[0][-1] == shown
