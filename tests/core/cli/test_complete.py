"""What a shell offers on TAB, asked through click's own classes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete

from mbench.cli.completion import WholeValues
from mbench.cli.main import group
from mbench.environments import managed


def offered(line: str) -> list[str]:
    """The values for the last word of a command line that begins with `mbench`."""
    *words, last = line.split(" ")[1:]
    found = ShellComplete(group, {}, "mbench", "_MBENCH_COMPLETE").get_completions(words, last)
    return [item.value for item in found]


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("mbench compare --frameworks ti", ["tiny"]),
        ("mbench compare --frameworks tiny,fl", ["tiny,flaky"]),
        ("mbench compare --frameworks tiny,ti", []),
        ("mbench compare pyt", ["pytorch"]),
        ("mbench compare tiny fla", ["flaky"]),
        ("mbench verify ti", ["tiny"]),
        ("mbench env create ti", ["tiny"]),
        ("mbench calibrate ti", ["tiny"]),
        ("mbench history --framework ti", ["tiny"]),
        ("mbench compare tiny:ea", ["tiny:eager"]),
        ("mbench compare --frameworks tiny,flaky:fp32:ea", ["tiny,flaky:fp32:eager"]),
        ("mbench run tiny:fp32:th", ["tiny:fp32:threads=1"]),
        ("mbench compare nobody:", []),
        ("mbench compare --models tiny-m", ["tiny-model"]),
        ("mbench compare --models resnet50,bert-ba", ["resnet50,bert-base"]),
        ("mbench compare --models mobilenet", ["mobilenet", "mobilenet_v2"]),
        ("mbench compare --models zo", ["zoo"]),
        (
            "mbench compare --mode ",
            ["backward", "decode", "forward", "inference", "load", "prefill", "train"],
        ),
        ("mbench compare --mode train,i", ["train,inference"]),
        ("mbench compare --precision amp-", ["amp-bf16", "amp-fp16"]),
        ("mbench compare --compiler imag", ["imaginary"]),
        ("mbench compare --compiler b", ["best"]),
        ("mbench compare --batch-size 8,", ["8,max"]),
        ("mbench compare --protocol d", ["dlperf"]),
        ("mbench compare --format j", ["json", "junit"]),
        ("mbench show --layout superbench --format j", ["json", "jsonl"]),
        ("mbench diff --format j", ["json", "junit"]),
        ("mbench show --layout d", ["dlperf"]),
        ("mbench show --log ", ["mlflow"]),
        ("mbench run qu", ["quick"]),
        ("mbench run tin", ["tiny"]),
        ("mbench disk --jobs seq_read,rand_w", ["seq_read,rand_write"]),
        ("mbench help comp", ["compare"]),
        ("mbench help env cr", ["create"]),
        ("mbench comp", ["compare"]),
    ],
)
def test_values(line, values):
    assert offered(line) == values


def test_a_command_that_there_is_not_ends_in_no_error():
    assert "compare" in offered("mbench comparee --mode ")


@pytest.mark.parametrize(
    "line", ["show", "report", "diff", "diff x", "export", "compare --resume", "run tiny --resume"]
)
def test_runs_the_latest_first(line, write_run, monkeypatch):
    made = [write_run(seconds={"tiny": [[1.0]]}) for _ in range(2)]
    monkeypatch.setenv("MBENCH_RESULTS", str(made[0].parent))
    assert offered(f"mbench {line} ") == [run.name for run in reversed(made)]


def test_runs_of_the_folder_that_is_named(write_run):
    run = write_run(seconds={"tiny": [[1.0]]})
    assert offered(f"mbench show --results {run.parent} {run.name[:6]}") == [run.name]


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
def test_fish_completes_the_last_of_a_list(tmp_path):
    (tmp_path / "mbench").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mbench "$@"\n')
    (tmp_path / "mbench").chmod(0o755)
    done = subprocess.run(
        ["fish", "--no-config", "-c", "_MBENCH_COMPLETE=fish_source mbench | source\n"
         "complete --do-complete 'mbench compare --frameworks tiny,fl'"],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["tiny,flaky"]


def test_fish_splits_no_value():
    assert "--max 1" in WholeValues.source_template


def test_environments(tmp_path, monkeypatch):
    monkeypatch.setenv("MBENCH_ENVIRONMENTS", str(tmp_path))
    name = managed.key("tiny", requirements=["tiny"], python="3.11")
    (tmp_path / name).mkdir()
    (tmp_path / "somebody-elses").mkdir()
    assert offered("mbench env remove ") == [name]
