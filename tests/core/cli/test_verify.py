"""`mbench verify` as users run it, on the tiny framework."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from support import commands

MBENCH = [sys.executable, "-m", "mbench", "verify"]


def verify(*arguments, fault=""):
    return proven("--frameworks", "tiny,flaky", "--threads", "1", *arguments, fault=fault)


def proven(*arguments, fault):
    return commands.mbench("verify", *arguments, env={**os.environ, "FLAKY": fault})


def test_proofs_and_their_progress():
    result = verify("--models", "tiny-model", "--mode", "train,inference", "--format", "json")
    assert result.returncode == 0, result.stderr
    proofs = json.loads(result.stdout)["proofs"]
    assert [(p["framework"], p["mode"]) for p in proofs] == [
        ("tiny", "train"), ("flaky", "train"), ("tiny", "inference"), ("flaky", "inference"),
    ]  # fmt: skip
    assert all(p["outcome"] == "ok" and p["proof"]["version"] for p in proofs)
    for number, mode in ((1, "train"), (2, "inference")):
        said = rf"== tiny-model {mode}.*: tiny, flaky \(comparison {number} of 2; "
        assert re.search(said, result.stderr)


def test_only_what_failed_is_proven_again():
    first = verify("--models", "tiny-model", fault="frozen")
    assert first.returncode == 1
    assert "NOT PROVEN, flaky" in first.stdout
    second = verify("--models", "tiny-model", "--format", "json")
    assert second.returncode == 0
    assert "tiny: proven before" in second.stderr
    proofs = {p["framework"]: p["proof"] for p in json.loads(second.stdout)["proofs"]}
    assert proofs["tiny"]["remembered"] is True
    assert proofs["flaky"]["remembered"] is False


def test_a_failure_is_told_when_it_is_found():
    result = verify("--models", "tiny-model", fault="frozen")
    told = result.stderr.index("flaky: NOT PROVEN: updates: change of bias")
    assert told < result.stderr.index("flaky: proving optimizer in float64")


def test_quick_proves_in_fp64_until_a_check_fails():
    result = verify("--quick", "--format", "json", fault="frozen")
    assert result.returncode == 1
    honest, lied = json.loads(result.stdout)["proofs"]
    assert [honest["model"], honest["precision"]] == ["tiny-images", "fp64"]
    assert honest["outcome"] == "ok"
    assert [f["check"] for f in lied["proof"]["findings"] if not f["passed"]] == ["updates"]
    assert lied["proof"]["findings"][-1]["check"] == "updates"
    assert "flaky: proving optimizer" not in result.stderr


def test_quick_takes_a_model_that_all_of_them_have():
    result = proven("tiny", "torch", "mxnet", "--quick", fault="")
    assert result.returncode == 2
    assert "no model is supported by all frameworks given: choose with --models" in result.stderr


def test_quick_has_a_precision_of_its_own():
    result = verify("--quick", "--precision", "fp32")
    assert result.returncode == 2
    assert result.stderr == (
        "mbench: --quick proves in fp64: leave out --precision, or leave out --quick\n"
    )


@pytest.mark.parametrize(
    ("fault", "filled", "said"),
    [
        ("reversed", "alike", "agree once all numbers of weight are alike: look at their order"),
        ("doubled", "zero", "agree once bias is zero: look at what is done with it"),
    ],
)
def test_outputs_that_are_wrong_are_located(fault, filled, said):
    result = proven("flaky", "--locate", "tiny", "--format", "json", fault=fault)
    assert result.returncode == 1, result.stderr
    lied, honest = json.loads(result.stdout)["proofs"]
    assert said in lied["located"]["said"]
    assert lied["located"]["filled"] == filled
    assert set(lied["located"]["errors"]) == {"weight", "bias"}
    assert honest["outcome"] == "ok"
    assert "located" not in honest
    assert f"flaky: outputs {said}" in result.stderr


def test_one_of_several_devices_locates_what_is_wrong():
    result = proven("flaky", "--locate", "tiny", "--scale", "1x2", fault="reversed")
    assert result.returncode == 1, result.stderr
    assert "flaky: outputs agree once all numbers of" in result.stderr


def test_who_is_not_proven_locates_nothing():
    result = proven("flaky", "--locate", "flaky", fault="reversed")
    assert result.returncode == 1
    assert "not located: flaky#2 is not proven itself" in result.stdout


def test_what_a_framework_lacks_is_unsupported():
    result = verify("--models", "tiny*,resnet18", "--format", "json")
    assert result.returncode == 1
    outcomes = {
        (p["framework"], p["model"]): p["outcome"] for p in json.loads(result.stdout)["proofs"]
    }
    assert outcomes["tiny", "tiny-model"] == "ok"
    assert outcomes["tiny", "resnet18"] == "unsupported"


def test_ctrl_c_reports_what_is_proven_and_goes_on_from_there():
    run = subprocess.Popen(
        [*MBENCH, "--frameworks", "tiny,flaky", "--models", "tiny-model", "--threads", "1",
         "--format", "json"],
        env={**os.environ, "FLAKY": "hang@1"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    assert run.stderr is not None
    for line in run.stderr:
        if "tiny: proven" in line:
            break
    time.sleep(0.5)
    os.killpg(run.pid, signal.SIGINT)
    out, err = run.communicate(timeout=30)
    assert run.returncode == 130
    assert "Traceback" not in err
    assert "the same command continues from here" in err
    assert [p["framework"] for p in json.loads(out)["proofs"]] == ["tiny"]
    again = verify("--models", "tiny-model")
    assert again.returncode == 0
    assert "tiny: proven before" in again.stderr


@pytest.mark.parametrize("words", ["tiny-model,tiny-m*", "tiny", "tiny-model,tiny-model"])
def test_a_model_named_twice_is_proven_once(words):
    result = verify("--models", words, "--format", "json")
    assert len(json.loads(result.stdout)["proofs"]) == 2


def test_precisions_share_the_float64_part():
    first = verify("--models", "tiny-model", "--precision", "fp64")
    assert "proving outputs in float64" in first.stderr
    second = verify("--models", "tiny-model", "--precision", "fp32", "--format", "json")
    assert "float64" not in second.stderr
    assert "proving fp32" in second.stderr
    proof, _ = json.loads(second.stdout)["proofs"]
    checks = [finding["check"] for finding in proof["proof"]["findings"]]
    assert {"parameters", "outputs", "updates", "optimizer", "timed"} <= set(checks)
    again = verify("--models", "tiny-model", "--precision", "fp32", "--fresh")
    assert "proving outputs in float64" in again.stderr
