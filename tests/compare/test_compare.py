"""Real frameworks against each other through the command line, in environments that it builds."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

MBENCH = [sys.executable, "-m", "mbench"]
SMALL = ["--models", "resnet18", "--image-size", "64", "--batch-size", "2"]
SHORT = ["--rounds", "2", "--block", "0.1", "--no-mfu", "--budget", "3600", "--format", "json"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("results")


def run(folder, *arguments: str) -> tuple[int, dict]:
    result = subprocess.run(
        [*MBENCH, *arguments, "--results", str(folder)],
        stdout=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    return result.returncode, json.loads(result.stdout)


def test_every_mode_and_precision_of_torch_and_tf(folder):
    code, document = run(
        folder, "compare", "--frameworks", "torch,tf", *SMALL, *SHORT,
        "--mode", "train,inference", "--precision", "fp32,amp-bf16,tf32", "--processes", "1",
    )  # fmt: skip
    assert code == 1, "tf32 is unsupported on CPU"
    assert len(document["cases"]) == 12
    for case in document["cases"]:
        if case["precision"] == "tf32":
            assert case["outcome"] == "unsupported"
            assert case["reason"]
            continue
        assert case["outcome"] == "ok", case["reason"]
        assert case["equal_work"]["proven"]
        assert case["throughput"]["value"] > 0
        assert case["version"]
        assert case["differences"]
        assert not case["standard"]
    compared = [c for c in document["comparisons"] if c["precision"] != "tf32"]
    assert [c["verdict"] for c in compared] == ["undetermined"] * 4


def test_a_verdict_on_torch_and_tf(folder):
    """What the test above has proven is remembered, and not proven again."""
    code, document = run(
        folder, "compare", "--frameworks", "torch,tf", *SMALL, *SHORT,
        "--mode", "inference", "--processes", "3",
    )  # fmt: skip
    assert code == 0, [case["reason"] for case in document["cases"]]
    assert all(case["equal_work"]["proven"] for case in document["cases"])
    (comparison,) = document["comparisons"]
    assert comparison["low"] <= comparison["ratio"] <= comparison["high"]
    # A machine that is busy all along may leave too few pairs that can be believed.
    pairs = comparison["process_pairs"] + comparison["left_out_pairs"]
    enough = pairs - comparison["spoilt_pairs"] >= 3
    assert (comparison["verdict"] != "undetermined") == enough


def test_out_of_memory_is_typed(folder):
    code, document = run(
        folder, "compare", "--frameworks", "torch,tf", "--models", "op:matmul/200000x1x200000",
        "--mode", "inference", "--batch-size", "1", "--processes", "1", "--rounds", "1",
        "--no-verify", "--format", "json",
    )  # fmt: skip
    assert code == 1
    assert {case["outcome"] for case in document["cases"]} == {"oom"}
