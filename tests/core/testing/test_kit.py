"""The conformance kit on the tiny framework, which passes, unless a fault is planted in it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

INSTALLED = any(entry.name == "mbench_testing" for entry in entry_points(group="pytest11"))


def kit(*arguments: str, fault: str = "") -> subprocess.CompletedProcess[str]:
    plugin = [] if INSTALLED else ["-p", "mbench.testing.plugin"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, "--pyargs", "mbench.testing", "-q",
         "-p", "no:cacheprovider", "--rootdir", os.curdir, *arguments],
        env={**os.environ, "FLAKY": fault}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a folder without settings for pytest


def failures(result: subprocess.CompletedProcess[str]) -> set[str]:
    """The names of the tests that failed, without their parameters."""
    assert "ERROR" not in result.stdout, result.stdout
    return set(re.findall(r"^FAILED .*?::(\w+)", result.stdout, re.MULTILINE))


def test_a_good_adapter_passes():
    result = kit("--adapter", "tiny")
    assert result.returncode == 0, result.stdout
    assert failures(result) == set()


@pytest.mark.parametrize(
    ("fault", "tests", "caught", "said"),
    [
        ("hasty", "left_to_wait and train", "test_nothing_is_left_to_wait_for_after_synchronize",
         "synchronize does not wait for everything that step enqueues"),
        ("merged", "n_steps and train", "test_n_steps_take_n_times_as_long_as_one",
         "the time is not that of the steps"),
        ("frozen", "proven", "test_the_smallest_model_is_proven",
         "1 of them did not change at all"),
        ("extra", "are_the_workloads", "test_parameters_are_the_workloads",
         "surplus is unexpected"),
        ("kept", "inference_repeats", "test_inference_repeats_itself_and_follows_the_parameters",
         "logits is kept"),
        ("raise@1", "starts_over", "test_loading_starts_over",
         "RuntimeError: the tiny framework has lost its mind"),
    ],
)  # fmt: skip
def test_a_bad_one_does_not(fault, tests, caught, said):
    result = kit("--adapter", "flaky", "-k", tests, fault=fault)
    assert failures(result) == {caught}
    assert said in result.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "give its name as --adapter NAME"),
        (("--adapter", "tinny"), "unknown framework 'tinny'; did you mean tiny?"),
        (("--adapter", "tiny=="), "is not a framework"),
    ],
)
def test_an_adapter_that_is_none_is_said_in_one_line(arguments, said):
    result = kit(*arguments)
    assert result.returncode == 4
    assert said in result.stdout + result.stderr
    assert "Traceback" not in result.stdout + result.stderr
