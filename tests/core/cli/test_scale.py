"""Several devices that train one model, as a user meets them: real processes on this machine."""

from __future__ import annotations

import os
import signal

import pytest
from comparing import QUICK, compare, documents, one_line, start, wait_for
from support import commands

SCALES = [*QUICK, "--scale", "1x1,1x2"]


def test_scales_are_proven_measured_and_reported(surroundings):
    result = compare("--frameworks", "tiny,flaky", *SCALES, "--format", "json")
    assert result.returncode == 0, result.stderr
    document, _ = documents(result)
    by_scale = {}
    for case in document["cases"]:
        by_scale.setdefault(case["scale"], []).append(case)
        exchanged = [f for f in case["equal_work"]["findings"] if f["check"] == "exchange"]
        assert all(finding["passed"] for finding in exchanged)
        assert bool(exchanged) is (case["scale"] == "1x2")
        ((samples, milliseconds),) = [(case["throughput"]["value"], case["step_time_ms"]["mean"])]
        assert samples == pytest.approx(64e3 * case["devices"] / milliseconds, rel=0.5)
    assert [case["devices"] for case in by_scale["1x2"]] == [2, 2]
    assert by_scale["1x1"][0]["ranks"] is None
    ranks = by_scale["1x2"][0]["ranks"]
    assert ranks["spread"] >= 0
    assert sum(ranks["slowest"]) == pytest.approx(1)
    shown = commands.mbench("show", "--layout", "dlperf").stdout
    assert "1x2 = 2 devices" in shown
    assert "speedup" in shown


def test_a_step_that_leads_each_block_is_no_lie_about_time(surroundings):
    """Each block is one long step, and there are as many blocks as the check of the clock needs."""
    result = compare(
        "--frameworks", "tiny,flaky", *QUICK, "--scale", "1x2", "--processes", "1", "--rounds", "8",
        "--no-verify", "--format", "json", "--batch-size", "60000", "--block", "0.01",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    document, _ = documents(result)
    assert all(case["step_time_ms"]["mean"] > 40 for case in document["cases"])
    assert [case["doubts"] for case in document["cases"]] == [[], []]


@pytest.mark.parametrize(
    ("fault", "said"),
    [("apart", "ranks do not train the same model"), ("summed", "off by"), ("led", "off by"),
     ("halved", "it is the mean of some ranks")],
)  # fmt: skip
def test_lies_about_the_exchange_are_told(surroundings, fault, said):
    words = ["verify", "flaky", "--models", "tiny-model", "--mode", "train", "--scale", "1x4"]
    result = commands.mbench(*words, env={**os.environ, "FLAKY": fault})
    assert result.returncode == 1, result.stderr
    assert "NOT PROVEN" in result.stderr
    assert "exchange: " in result.stdout
    assert said in result.stdout


def test_a_rank_that_dies_has_a_typed_outcome(surroundings):
    result = compare(
        "--frameworks", "tiny,flaky", *QUICK, "--scale", "1x2", "--no-verify", "--format", "json",
        fault="kill@9",
    )  # fmt: skip
    assert result.returncode == 1
    _, cases = documents(result)
    assert cases["tiny"]["outcome"] == "ok"
    assert cases["flaky"]["outcome"] == "crashed"
    assert "of 2: the worker was killed by SIGKILL" in cases["flaky"]["reason"]


def test_ctrl_c_ends_all_ranks(surroundings):
    process = start("--frameworks", "tiny,tiny", *QUICK, "--scale", "1x3", "--rounds", "10000",
                    "--no-verify")  # fmt: skip
    wait_for(process, "measuring")
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "--resume" in said


@pytest.mark.parametrize("word", ["2", "0x2", "2x", "two"])
def test_what_is_no_scale_has_one_line(surroundings, word):
    result = compare("--frameworks", "tiny,tiny", *QUICK, "--scale", word)
    assert result.returncode == 2
    assert f"{word!r} is not a scale: write nodes x devices, as in 2x8" in one_line(result)
