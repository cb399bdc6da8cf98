"""`--data`: batches from files, and what becomes of pipelines that lie, die or hang."""

from __future__ import annotations

import json
import re

import pytest
from comparing import assert_no_workers, compare, documents, one_line
from support import commands

from mbench.contract.adapter import Unsupported
from mbench.proofs import pixels
from mbench.worker import feeds

IMAGES = ["--models", "tiny-images", "--data", "photos", "--threads", "1", "--processes", "1",
          "--rounds", "1", "--block", "0.02", "--no-mfu"]  # fmt: skip
JSON = ["--format", "json", "-q"]


@pytest.fixture(autouse=True)
def photos(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pixels.write_probes(tmp_path / "photos", "a")
    return tmp_path / "photos"


def test_step_pipeline_and_both_are_measured(tmp_path):
    done = compare("tiny", "flaky", *IMAGES, "--mode", "train", "--storage", "warm,cold", *JSON)
    document, _ = documents(done)
    warm, cold = document["cases"][:2], document["cases"][2:]
    assert [case["outcome"] for case in warm] == ["ok"] * 2
    if stays_in_memory(tmp_path / "photos"):
        assert [case["outcome"] for case in cold] == ["unsupported"] * 2
        return
    assert [(case["storage"], case["outcome"]) for case in cold] == [("cold", "ok")] * 2
    assert all(case["input"]["stall"]["value"] < 1 for case in (*warm, *cold))
    assert {case["data"] for case in document["cases"]} == {str(tmp_path / "photos")}
    (events,) = tmp_path.glob("*/*/run.jsonl")
    lines = [json.loads(line) for line in events.read_text().splitlines()]
    parts = [line["part"] for line in lines if line["event"] == "part_block"]
    assert sorted(parts) == ["pipeline"] * 4 + ["step"] * 4
    sets = [line for line in lines if line["event"] == "data_set"]
    assert [one["files"] for one in sets] == [10, 10]
    assert len(sets[0]["digest"]) == 64
    assert [line["grade"] for line in lines if line["event"] == "pixels"] == ["equal"] * 4


def stays_in_memory(folder):
    """Whether the file system of `folder` keeps its files in memory, as tmpfs does."""
    try:
        feeds.drop_from_memory(sorted(map(str, folder.rglob("*.jpg"))), check=True)
    except Unsupported:
        return True
    return False


def test_the_pipeline_alone_is_a_mode_of_its_own():
    done = compare("tiny", "flaky", *IMAGES, "--mode", "load")
    assert done.returncode == 0, done.stderr
    assert "tiny-images load, batch 8" in done.stdout
    assert "pipeline alone" in done.stdout
    done = compare("tiny", "flaky", "--models", "tiny-images", "--mode", "load", "--dry-run")
    assert done.returncode == 2
    assert "--mode load reads images from files: give a folder with --data" in one_line(done)


def test_a_pipeline_that_works_while_it_is_stopped_is_named(tmp_path):
    done = compare("tiny", "flaky", *IMAGES, "--mode", "inference", *JSON, fault="unstopped")
    _, cases = documents(done)
    assert cases["flaky"]["outcome"] == "not-equal"
    assert cases["flaky"]["reason"] == "pixels: the pipeline works while it is stopped"
    assert_no_workers(tmp_path)


def test_a_loader_that_dies_or_hangs_or_has_no_files_ends_its_case_only(tmp_path):
    for fault, seconds, outcome, said in (
        ("loader-dies", "60", "failed", "the loader has died"),
        ("loader-hangs", "5", "timeout", ""),
        ("folder-vanishes", "60", "failed", "No such file or directory"),
    ):
        done = compare("tiny", "flaky", *IMAGES, "--timeout", seconds, *JSON, fault=fault)
        _, cases = documents(done)
        assert cases["tiny"]["outcome"] == "ok" or fault == "folder-vanishes"
        assert cases["flaky"]["outcome"] == outcome
        assert said in cases["flaky"]["reason"]
        assert_no_workers(tmp_path)


def test_a_file_that_cannot_be_read_ends_its_comparison(photos):
    (photos / "class0" / "gone.jpg").symlink_to("nowhere")
    done = compare("tiny", "flaky", *IMAGES, *JSON)
    assert done.returncode == 1
    _, cases = documents(done)
    for case in cases.values():
        assert case["outcome"] == "failed"
        assert case["reason"].endswith("class0/gone.jpg: No such file or directory")
    said = " ".join(commands.mbench("show").stdout.split())
    assert re.search(r"warn data mbench data check \S+/photos names files that do not decode", said)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--models", "tiny-model"], "but tiny-model train does not use images"),
        (["--data", "nowhere"], "no such file or directory"),
        (["--data", "resident", "--storage", "cold"], "--storage is about images from files: give"),
        (["--data", "resident", "--loaders", "2"], "--loaders is about images from files: give"),
        (["--mode", "forward"], "--data applies to training and inference"),
        (["--protocol", "dlperf"], "--data is for the protocol adaptive, not for dlperf"),
    ],
)
def test_bad_input_is_one_line(arguments, said):
    given = ["tiny", "flaky", "--models", "tiny-images", "--data", "photos", *arguments]
    done = compare(*given, "--dry-run")
    assert done.returncode == 2
    assert said in one_line(done)


def test_resident_batches_are_one_case_whatever_the_storage():
    done = compare("tiny", "flaky", *IMAGES, "--data", "resident,photos", "--storage", "warm,cold",
                   "--dry-run")  # fmt: skip
    assert "3 comparisons, 6 cases" in done.stdout


def test_explain_shows_what_steps_wait_for_images():
    words = ["tiny", "flaky", *IMAGES, "--processes", "3", "--mode", "train", *JSON]
    result = commands.mbench("explain", *words, timeout=240)
    assert result.returncode == 0, result.stderr
    (found,) = json.loads(result.stdout)["differences"]
    assert [row["phase"] for row in found["phases"]][-1] == "waiting for images"
    parts = [found["empty"], found["operator_input"], *found["kinds"], found["residual"]]
    if all(parts):  # noise may make operators seem to overlap; then there is no residual
        total = sum(part["difference_ms"]["value"] for part in parts)
        step = found["operator_step"]["difference_ms"]["value"]
        assert total == pytest.approx(step, rel=1e-9)
