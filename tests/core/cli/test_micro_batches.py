"""Gradients that are accumulated over micro-batches: proven against the undivided batch."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest
from support import commands

from mbench.contract.case import Case
from mbench.proofs.proof_case import proof_case
from mbench.scenarios.find import resolve
from mbench.workloads import gpt2, resnet

MEASURE = ["--threads", "1", "--processes", "1", "--rounds", "2", "--block", "0.02", "--no-mfu"]


def run(folder, *arguments, fault=""):
    done = commands.mbench(
        *arguments, cwd=folder,
        env={**os.environ, "COLUMNS": "250", "FLAKY": fault,
             "MBENCH_CALIBRATIONS": "calibrations", "MBENCH_RESULTS": "results",
             "MBENCH_PROOFS": "proofs"},
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done


def case(workload, module, **axes):
    axes = {"mode": "train", "batch_size": 8, "accumulate": 4, **axes}
    return Case(model=workload.name, workload=f"{module.__name__}:MODELS", precision="fp32",
                compiler="eager", device="cpu", threads=1, **axes)  # fmt: skip


def test_divided_and_whole_batches_are_proven_and_measured(tmp_path):
    """Both are proven by the reference of the whole batch."""
    done = run(tmp_path, "compare", "tiny", "tiny", "--models", "tiny-model", "--batch-size", "64",
               "--accumulate", "1,4", *MEASURE, "--format", "json")  # fmt: skip
    assert done.returncode in (0, 3), done.stderr
    document = json.loads(done.stdout)
    cases = document["cases"]
    assert [one["accumulate"] for one in cases] == [1, 1, 4, 4]
    assert all(one["equal_work"]["proven"] for one in cases)
    assert max(one["equal_work"]["worst"] for one in cases) < 1e-5
    assert {one["global_batch_size"] for one in cases} == {64}
    losses = [one["first_loss"] for one in cases]
    assert losses == pytest.approx([losses[0]] * 4, rel=1e-6)
    header, *rows = run(tmp_path, "show", document["run"], "--format", "csv").stdout.splitlines()
    at = header.split(",").index("accumulate")
    assert [row.split(",")[at] for row in rows] == ["1", "1", "4", "4"]


def test_gradients_that_are_summed_in_place_of_their_mean_are_not_equal_work(tmp_path):
    done = run(tmp_path, "verify", "flaky", "--models", "tiny-model", "--accumulate", "2",
               fault="undivided")  # fmt: skip
    assert done.returncode == 1, done.stdout
    assert "loss" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--models", "tiny-model", "--batch-size", "6", "--accumulate", "4"],
         "a batch of 6 cannot be divided into 4 micro-batches"),
        (["--models", "tiny-model", "--accumulate", "0"], "--accumulate"),
        (["--models", "tiny-model", "--mode", "inference", "--accumulate", "2"],
         "--accumulate applies to training"),
        (["--models", "tiny-model", "--mode", "inference", "--checkpoint"],
         "--checkpoint applies to training"),
        (["--models", "resnet50", "--accumulate", "2"], "resnet50 has batch norm"),
        (["--models", "tiny-model", "--batch-size", "max", "--accumulate", "2"],
         "--batch-size max does not work with --accumulate"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_before_anything_is_built(tmp_path, words, said):
    done = run(tmp_path, "compare", "tiny", "tiny", *words)
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in " ".join(done.stderr.split())
    assert len(done.stderr.strip().splitlines()) <= 2
    assert not (tmp_path / "results").exists()


def test_an_adapter_without_it_says_so(tmp_path):
    done = run(tmp_path, "compare", "tiny", "tiny", "--models", "tiny-model", "--checkpoint",
               *MEASURE)  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "Tiny's adapter has no activation checkpointing" in " ".join(done.stdout.split())


@pytest.mark.parametrize(("asked", "made"), [(1, 1), (2, 2), (4, 2), (8, 2)])
def test_a_proofs_batch_has_as_many_parts_as_it_can(asked, made):
    found = proof_case(case(gpt2.MODELS["gpt2-small"], gpt2, accumulate=asked))
    assert (found.batch_size, found.accumulate) == (2, made)


def test_several_devices_and_batch_norm_are_refused():
    with pytest.raises(ValueError, match="one device"):
        resolve(case(gpt2.MODELS["gpt2-small"], gpt2, scale="1x2"))
    with pytest.raises(ValueError, match="batch norm"):
        resolve(case(resnet.MODELS["resnet18"], resnet))
    assert resolve(replace(case(resnet.MODELS["resnet18"], resnet), accumulate=1))
