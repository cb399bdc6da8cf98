"""Suites, dry runs and searches as a user meets them: through the command line."""

from __future__ import annotations

import json

import pytest
from support import commands

SUITE = """\
frameworks = ["tiny", "flaky"]

[protocol]
name = "dlperf"
processes = 1
steps = 5

[[sweep]]
models = ["tiny-model"]
batch-size = [8]

[[sweep]]
models = ["tiny-model"]
mode = ["inference"]
batch-size = [4, 8]
precision = ["fp32", "amp-bf16"]
"""


@pytest.fixture
def mbench(tmp_path):
    def mbench(*arguments):
        return commands.mbench(*arguments, cwd=tmp_path)

    return mbench


@pytest.fixture
def suite(tmp_path):
    (tmp_path / "my.toml").write_text(SUITE)
    return "my.toml"


def test_a_suite_measures_all_its_sweeps_by_its_protocol(mbench, suite):
    result = mbench("run", suite, "--no-verify", "--no-mfu", "--threads", "1", "--format", "json")
    assert result.returncode == 1, result.stderr  # amp-bf16 is unsupported
    document = json.loads(result.stdout)
    assert (document["protocol"]["name"], document["protocol"]["steps"]) == ("dlperf", 5)
    cases = document["cases"]
    assert [case["mode"] for case in cases] == ["train"] * 2 + ["inference"] * 8
    assert {case["outcome"] for case in cases if case["precision"] == "fp32"} == {"ok"}
    for comparison in document["comparisons"]:
        one, other = (cases[at] for at in comparison["cases"])
        assert (one["label"], other["label"]) == ("tiny", "flaky")
        assert one["batch_size"] == other["batch_size"] == comparison["batch_size"]


def test_what_is_typed_wins_over_the_suite(mbench, suite):
    result = mbench("run", suite, "--dry-run", "--mode", "train", "--batch-size", "2",
                    "--frameworks", "flaky", "--no-amp", "--protocol", "adaptive")  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "2 comparisons, 2 cases: at most 5 min" in result.stdout
    assert "inference" not in result.stdout
    assert "amp" not in result.stdout
    assert "tiny-model train, batch 2, fp32: flaky" in result.stdout


def test_a_dry_run_prints_cases_and_measures_nothing(mbench, suite, tmp_path):
    result = mbench("run", suite, "--dry-run")
    assert result.returncode == 0, result.stderr
    assert "tiny-model train, batch 8, fp32: tiny (eager), flaky (eager): unknown" in result.stdout
    assert "  tiny: unsupported: tiny knows fp32 and fp64 only" in result.stdout
    assert "5 comparisons, 10 cases, 4 of them unsupported;" in result.stdout
    assert not (tmp_path / "results").exists()


def test_a_dry_run_learns_from_earlier_runs(mbench, tmp_path):
    case = ["tiny", "--models", "tiny-model", "--threads", "1", "--no-verify", "--no-mfu"]
    case += ["--protocol", "superbench", "--steps", "50"]
    assert mbench("run", *case).returncode == 0
    result = mbench("run", *case, "--dry-run")
    assert "tiny (eager): about 0 s, plus the start of 1 worker" in result.stdout


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('models = ["tiny-modle"]', "line 9, models: unknown model 'tiny-modle'"),
        ('operators = ["gpt2-small"]', "line 9, operators: the operators of gpt2"),
        ('operators = ["tiny-modle"]', "line 9, operators: unknown model 'tiny-modle'"),
        ('batch-size = ["most"]', "line 9, batch-size: 'most' is not a whole number"),
        ('mode = ["trian"]', "line 9, mode: unknown mode 'trian'; did you mean train?"),
        ("mood = 1", "line 9, mood: unknown key; did you mean mode?"),
        ("amp = 1", "line 9, amp: 1 is not true or false"),
        ("models = [{}]", "line 9, models: {} is not text"),
        ("image-size = 32", "line 9, image-size: the size image_size fits none of the models"),
        ('size = ["image_size=32"]', "line 9, size: the size image_size fits none of the models"),
        ('size = ["n=1", "n=2"]', "line 9, size: n is given as 1 and as 2; give one of them"),
        ("size = 1", "line 9, size: 1 is not a size like image_size=96"),
        ('compiler = ["eagre"]', "line 9, compiler: unknown compiler 'eagre'; did you mean eager?"),
    ],
)
def test_an_impossible_sweep_names_its_line_and_key(mbench, tmp_path, line, words):
    head, _, rest = SUITE.partition('models = ["tiny-model"]\n')
    models = "" if line.startswith(("models", "operators")) else 'models = ["tiny-model"]\n'
    (tmp_path / "bad.toml").write_text(
        f"{head}{line}\n{models}{rest}".replace("batch-size = [8]\n", "")
    )
    result = mbench("run", "bad.toml")
    assert result.returncode == 2
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"dlperf"', '"dlperv"', "line 4, name: unknown protocol 'dlperv'; did you mean dlperf?"),
        ("steps = 5", "rounds = 5", "line 6, rounds: --rounds is not for the protocol dlperf"),
        ("steps = 5", "steps = 0", "line 6, steps: '0' is not a whole number of 1 or more"),
        ('"flaky"]', '"flakey"]', "line 1, frameworks: unknown framework 'flakey'"),
    ],
)
def test_an_impossible_protocol_names_its_line_and_key(mbench, tmp_path, old, new, words):
    (tmp_path / "bad.toml").write_text(SUITE.replace(old, new))
    result = mbench("run", "bad.toml")
    assert result.returncode == 2
    assert words in result.stderr


def test_the_operators_of_a_suite_give_way_to_what_is_typed(mbench, tmp_path):
    (tmp_path / "my.toml").write_text(
        '[[sweep]]\noperators = ["tiny-model"]\nbatch-size = [2]\nmode = ["inference"]\n'
    )
    planned = mbench("run", "my.toml", "--frameworks", "tiny", "--dry-run").stdout
    assert planned.startswith("op:linear/2x256x64 inference, batch 4")
    assert "1 comparison, 1 case" in planned
    typed = mbench("run", "my.toml", "--frameworks", "tiny", "--models", "tiny-model", "--dry-run")
    assert typed.stdout.startswith("tiny-model inference, batch 2")


def test_frameworks_of_a_framework_make_no_sense(mbench):
    result = mbench("run", "tiny", "--frameworks", "flaky")
    assert result.returncode == 2
    assert "to compare frameworks, use mbench compare" in result.stderr


def test_the_largest_batch_within_a_limit_is_found_and_measured(mbench):
    result = mbench(
        "compare", "--frameworks", "tiny,flaky", "--models", "tiny-model", "--mode", "inference",
        "--batch-size", "max", "--memory-limit", "121MiB", "--protocol", "dlperf", "--steps", "2",
        "--processes", "1", "--warmup-steps", "1", "--no-verify", "--no-mfu", "--threads", "1",
        "--format", "json",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    sizes = {case["batch_size"] for case in document["cases"]}
    found = [search["chosen"] for search in document["searches"]]
    assert sizes == {min(found)}
    assert 1024 < min(found) < 120 * 2**20 / (4 * 256)  # the features alone
    for search in document["searches"]:
        assert search["what"] == "batch_size"
        assert {trial["outcome"] for trial in search["tried"]} == {"ok", "oom"}
        larger = [t["value"] for t in search["tried"] if t["outcome"] == "oom"]
        assert search["chosen"] < min(larger) <= search["chosen"] * 17 / 16 + 1
    assert "tiny: tried batch 64:" in result.stderr


def test_the_best_compiler_stands_beside_the_default(mbench, monkeypatch):
    monkeypatch.setenv("FLAKY", "slow")
    quick = ["--models", "tiny-model", "--threads", "1", "--no-verify", "--no-mfu"]
    quick += ["--processes", "1", "--rounds", "1", "--block", "0.05"]
    result = mbench("compare", "--frameworks", "tiny,flaky", *quick, "--compiler", "best",
                    "--format", "json")  # fmt: skip
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    compilers = [case["compiler"] for case in document["cases"]]
    assert compilers == ["eager", "eager", "eager", "steady"]
    assert document["comparisons"][0]["compilers"] == {"tiny": "eager", "flaky": "eager"}
    assert document["comparisons"][1]["compilers"] == {"tiny": "eager", "flaky": "steady"}
    shown = mbench("show").stdout
    assert "flaky: best compiler steady (tried, step time: eager" in " ".join(shown.split())


def test_where_the_default_is_the_best_it_is_measured_once(mbench, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    result = mbench("run", "tiny", "--models", "tiny-model", "--threads", "1", "--no-verify",
                    "--no-mfu", "--processes", "1", "--rounds", "1", "--block", "0.05",
                    "--compiler", "best")  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "best compiler eager" in result.stdout
    assert [line.split()[0] for line in result.stdout.splitlines() if "samples/s" in line] == [
        "Tiny:", "framework",
    ], "the answer, and the head of the table"  # fmt: skip


def test_a_framework_that_cannot_run_does_not_make_the_others_run_twice(mbench):
    result = mbench("compare", "--frameworks", "tiny,torch", "--models", "tiny-model",
                    "--threads", "1", "--no-verify", "--no-mfu", "--processes", "1",
                    "--rounds", "1", "--block", "0.05", "--compiler", "best",
                    "--format", "json")  # fmt: skip
    assert result.returncode == 1, result.stderr
    document = json.loads(result.stdout)
    assert [case["outcome"] for case in document["cases"]] == ["ok", "unsupported"]


@pytest.mark.parametrize("asked", [("--compiler", "best"), ("--tier", "all")])
def test_verify_has_no_best_compiler_and_says_what_to_give(mbench, asked):
    result = mbench("verify", "--frameworks", "tiny", "--models", "tiny-model", *asked)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "give --tier default,tuned or --compiler NAME" in result.stderr
