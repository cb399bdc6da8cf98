"""Colours of what is said, and that words say it too."""

from __future__ import annotations

import re

import pytest

from mbench.reports.paint import STYLES, paint


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("winner", "resnet50 train: tf is 1.53 times as fast as torch (ratio 1.53)",
         "tf is 1.53 times as fast as torch"),
        ("winner", "m: tf (graph) is 2 times as fast as torch (eager), each as",
         "tf (graph) is 2 times as fast as torch (eager)"),
        ("winner", "tf (xla) is 2 times (1.5 .. 2.6) as fast as torch (eager), each as",
         "tf (xla) is 2 times (1.5 .. 2.6) as fast as torch (eager)"),
        ("winner", "m: a in bf16 with x and threads 2 is 2 times as fast as b in fp32 with y (",
         "a in bf16 with x and threads 2 is 2 times as fast as b in fp32 with y"),
        ("winner", "a is 2 times\nas fast as b", "a is 2 times\nas fast as b"),
        ("open", "b against a: no difference\nshown: b may", "no difference\nshown"),
        ("open", "b against a: alike within 3 %", "alike within 3 %"),
        ("open", "b against a: undetermined, 2 more", "undetermined"),
        ("proven", "equal work: proven (worst 1e-07)", "proven"),
        ("unequal", "equal work: NOT PROVEN, b: updates", "NOT PROVEN"),
        ("unequal", "b is not-equal: updates", "not-equal"),
        ("disturbed", "DISTURBED, a, b: a load", "DISTURBED"),
        ("disturbed", "warn  swap   in use", "warn"),
        ("failed", "b is oom: too large", "oom"),
        ("failed", "fail  memory   0.1 GiB", "fail"),
        ("failed", "slower, REGRESSION", "REGRESSION"),
        ("heading", "said\n\nframework   95 %\n            version\n─────────   ───────\na",
         "framework   95 %\n            version\n"),
    ],
)  # fmt: skip
def test_what_is_said_has_its_colour(kind, text, said):
    assert paint(text) == text.replace(said, f"\x1b[{STYLES[kind][0]}m{said}\x1b[0m", 1)


def test_colours_add_nothing_but_colour_and_tell_bad_things_apart():
    text = "model  outcome\n─────  ───────\na      crashed\nDISTURBED, a; equal work: NOT PROVEN\n"
    assert re.sub("\x1b\\[[0-9;]*m", "", paint(text)) == text
    codes = [STYLES[kind][0] for kind in ("winner", "proven", "unequal", "disturbed", "failed")]
    assert len(set(codes)) == len(codes)
