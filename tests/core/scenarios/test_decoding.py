"""The modes prefill and decode, end to end, with a model whose cache is a sum of words."""

from __future__ import annotations

import json
import os

import pytest
from support import commands

from mbench.results.folder import EVENTS_FILE

PLUGIN = """
from mbench.plugins.hooks import hookimpl


@hookimpl
def mbench_workloads():
    return {"tiny-decoder": "mbench_tiny_decoder:DECODER"}
"""
MEASURE = ["--threads", "1", "--processes", "2", "--rounds", "2", "--block", "0.02", "--no-mfu"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder in which a plugin is installed that registers the model."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "decoder_plugin.py").write_text(PLUGIN)
    info = folder / "decoder-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: decoder\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[mbench]\ndecoder = decoder_plugin\n")
    return folder


@pytest.fixture(scope="module")
def run(home):
    """A function that runs a command where the model is registered; returns the ended process."""

    def run(*arguments, fault=""):
        paths = os.pathsep.join([str(home), os.environ.get("PYTHONPATH", "")])
        done = commands.mbench(
            *arguments, cwd=home,
            env={**os.environ, "PYTHONPATH": paths, "COLUMNS": "250", "FLAKY": fault,
                 "MBENCH_CALIBRATIONS": "calibrations", "MBENCH_RESULTS": "results",
                 "MBENCH_PROOFS": "proofs"},
        )  # fmt: skip
        assert "Traceback" not in done.stderr, done.stderr
        return done

    return run


@pytest.fixture(scope="module")
def document(run):
    done = run("compare", "tiny", "tiny", "--models", "tiny-decoder", "--mode",
               "train,prefill,decode", "--new-tokens", "4", *MEASURE,
               "--format", "json")  # fmt: skip
    assert done.returncode in (0, 3), done.stderr
    return json.loads(done.stdout)


def case(document, mode):
    return next(case for case in document["cases"] if case["mode"] == mode)


def test_speeds_are_in_tokens(document):
    assert {case["throughput"]["unit"] for case in document["cases"]} == {"tokens/s"}
    assert all(case["equal_work"]["proven"] for case in document["cases"])


@pytest.mark.parametrize(("mode", "tokens"), [("train", 16), ("prefill", 10), ("decode", 4)])
def test_a_step_has_the_tokens_of_all_sequences(document, home, mode, tokens):
    """Computed from the blocks of the run's file, with four sequences in each step."""
    (file,) = home.glob(f"results/*/{EVENTS_FILE}")
    events = [json.loads(line) for line in file.read_text().splitlines()]
    number = next(e["case"] for e in events if e["event"] == "case" and e["axes"]["mode"] == mode)
    blocks = [e for e in events if e["event"] == "block" and e["case"] == number and not e["each"]]
    rates = [4 * tokens * e["steps"] * 1e9 / sum(e["nanoseconds"]) for e in blocks]
    assert min(rates) <= case(document, mode)["throughput"]["value"] <= max(rates)


def test_time_to_the_first_token_and_per_token(document):
    prompt, new = case(document, "prefill"), case(document, "decode")
    first = prompt["metrics"]["first_token_mean"]["value"]
    assert first == prompt["metrics"]["latency_mean"]["value"]
    each = new["metrics"]["token_mean"]["value"]
    assert each == pytest.approx(new["metrics"]["latency_mean"]["value"] / 4)


def test_new_tokens_have_the_rate_at_which_they_read(document):
    found = case(document, "decode")
    assert found["memory_read"]["bytes_per_step"] == 4 * 4 * 32 * (64 + 4 + 4)
    steps = found["throughput"]["value"] / (4 * 4)
    rate = found["memory_read"]["bytes_per_step"] * steps
    assert found["memory_read"]["bytes_per_second"] == pytest.approx(rate)
    assert found["memory_read"]["share"] is None, "it was not measured"
    assert case(document, "prefill")["memory_read"] is None


def test_reports_name_the_share_of_the_bandwidth_and_the_convention_of_mfu(run):
    """The peak is the one measured with the tiny framework."""
    measure = [one for one in MEASURE if one != "--no-mfu"]
    done = run("compare", "tiny", "tiny", "--models", "tiny-decoder", "--mode", "decode,prefill",
               "--flops", "causal", *measure, "--format", "json")  # fmt: skip
    assert done.returncode in (0, 3), done.stderr
    found = json.loads(done.stdout)
    new, prompt = case(found, "decode"), case(found, "prefill")
    bandwidth = max(one["ceiling"]["bytes_per_second"] for one in found["cases"] if one["ceiling"])
    read = new["memory_read"]
    assert read["share"] == pytest.approx(read["bytes_per_second"] / bandwidth)
    assert (new["flops_convention"], prompt["flops_convention"]) == (None, "causal")
    left = prompt["flops_per_sample"] - prompt["masked_flops_per_sample"]
    assert left == pytest.approx(prompt["flops_per_sample"] * 0.75)
    rate = left * prompt["throughput"]["value"] / prompt["peak_flops_per_second"]
    assert prompt["mfu"] == pytest.approx(rate)
    table = run("show", found["run"], "-v").stdout
    assert "MFU (causal)" in table
    assert "of bandwidth" in table
    page = run("show", found["run"], "--format", "html").stdout
    assert "read GB/s" in page
    assert "MFU (causal)" in page


def test_sizes_are_those_that_a_mode_takes(document):
    sizes = {case["mode"]: case["sizes"] for case in document["cases"]}
    assert sizes == {"train": {}, "prefill": {}, "decode": {"new_tokens": 4}}


def test_a_decoder_is_taken_apart_by_operators_that_have_no_caches(run):
    words = ["--models", "tiny-decoder", "--mode", "decode", "--batch-size", "2", "--processes",
             "3"]  # fmt: skip
    done = run("explain", "tiny", "tiny", *MEASURE, *words, "--rounds", "1", "--no-verify",
               "--format", "json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["missing"] == []
    (found,) = document["differences"]
    assert {one["operator"]: one["times"] for one in found["operators"]} == {
        "op:embedding/2x64x32": 6, "op:linear/2x32x64-b0": 6,
    }  # fmt: skip


def test_the_operators_of_two_modes_are_compared_as_those_of_one(run):
    done = run("compare", "tiny", "tiny", *MEASURE, "--operators", "tiny-decoder", "--mode",
               "prefill,decode", "--batch-size", "2", "--processes", "1", "--no-verify",
               "--format", "json")  # fmt: skip
    assert done.returncode in (0, 3), done.stderr
    assert {(one["model"], one["mode"]) for one in json.loads(done.stdout)["cases"]} == {
        ("op:embedding/20x64x32", "inference"), ("op:embedding/2x64x32", "inference"),
        ("op:linear/2x32x64-b0", "inference"),
    }  # fmt: skip


def test_a_cache_that_goes_on_where_it_was_is_not_equal_work(run):
    done = run("verify", "flaky", "--models", "tiny-decoder", "--mode", "decode", fault="forgetful")
    assert done.returncode == 1
    assert "output logits" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--models", "resnet50", "--mode", "decode"],
         "resnet50 has no mode decode: it has no cache of keys and values"),
        (["--models", "tiny-decoder", "--mode", "prefill", "--prompt-length", "65"],
         "prompt_length of tiny-decoder must be 1 to 64, not 65"),
        (["--models", "tiny-decoder", "--mode", "decode", "--prompt-length", "60"],
         "a prompt of 60 and 6 new tokens exceed the 64 positions of tiny-decoder"),
        (["--models", "tiny-decoder", "--mode", "decode", "--new-tokens", "0"], "--new-tokens"),
        (["--models", "tiny-decoder", "--mode", "decode", "--precision", "int8"],
         "tiny-decoder has no int8, which applies only to linear layers"),
        (["--models", "llama-15m", "--mode", "decode", "--precision", "int8"],
         "not provided: Tiny's adapter has no llama model"),
        (["--models", "tiny-decoder", "--flops", "half"], "'half' is not one of whole, causal"),
        (["--models", "tiny-decoder", "--mode", "train", "--new-tokens", "3"],
         "--new-tokens applies to decode: add decode to --mode"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_before_anything_is_built(run, home, words, said):
    done = run("compare", "tiny", "tiny", *words)
    assert done.returncode == 2, done.stdout
    assert said in " ".join(done.stderr.split())
    assert len(done.stderr.strip().splitlines()) <= 3
