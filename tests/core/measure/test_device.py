"""A device's memory, clocks and errors, from the command to the result: tiny on a made-up GPU.

Workers are real processes that hold memory on this GPU, and a fake NVML shows what they hold.
"""

from __future__ import annotations

import json
from dataclasses import replace

import psutil
import pytest
from click.testing import CliRunner
from fake_nvml import FakeNvml, FolderGpu
from mbench_tiny_gpu import COPY, KERNEL, Settings, holders

import mbench
from mbench.cli.main import group
from mbench.engine import local
from mbench.machine import devices, nvml
from mbench.measure import search

QUICK = {"models": "tiny-model", "device": "cuda", "precision": "fp32", "threads": 1,
         "processes": 1, "rounds": 2, "block": 0.02, "mfu": False, "quiet": True}  # fmt: skip
MIB = 2**20
COARSE = 2
"""A search ends once the next size known not to fit is at most half as large again."""


@pytest.fixture
def gpu(tmp_path, monkeypatch):
    """A function that gives the machine a GPU with these settings, and returns its folder."""

    def gpu(**settings):
        folder = tmp_path / "gpu"
        folder.mkdir(exist_ok=True)
        Settings(**settings).write(folder)
        monkeypatch.setenv("TINY_GPU", str(folder))
        monkeypatch.setattr(nvml, "initialised", lambda: FakeNvml(FolderGpu(folder)))
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        monkeypatch.setattr(search, "RESOLUTION", COARSE)  # this takes fewer workers
        return folder

    yield gpu
    assert holders(tmp_path / "gpu") == {}, "a worker was left on the GPU"


def cases(result):
    return {case["label"]: case for case in result.document["cases"]}


def test_it_is_proven_and_measured_on_the_gpu_that_is_named(gpu):
    gpu(name="NVIDIA Imaginary")
    result = mbench.compare(["tiny", "tiny"], **QUICK)
    assert result.ok, result
    assert devices.usual() == "cuda"
    assert result.document["system"]["gpus"][0]["name"] == "NVIDIA Imaginary"
    for case in result.document["cases"]:
        assert case["equal_work"]["proven"]
        assert case["framework_info"]["device_name"] == "NVIDIA Imaginary"
        assert case["framework_info"]["device_address"] == "0000:3b:00.0"
        assert case["throughput"]["unit"] == "samples/s"


def test_memory_is_told_by_the_allocator_and_by_the_driver(gpu):
    """64 samples of 10 MiB, 50 MiB more while algorithms are tried, and 100 MiB for the driver."""
    gpu()
    case = mbench.run("tiny", **QUICK, verify=False).document["cases"][0]
    assert case["warmup_peak_memory_bytes"] == (640 + 50) * MIB
    assert case["peak_memory_bytes"] == 640 * MIB
    assert case["device_memory_bytes"] == (640 + 50 + 100) * MIB
    assert case["synchronize_seconds"] > 0


def test_the_largest_batch_is_one_that_all_can_hold_side_by_side(gpu):
    """Of 4,000 MiB, each of two workers may take 1,800, of which 512 are left for the driver."""
    gpu(memory=4_000)
    result = mbench.compare(["tiny", "tiny"], **QUICK, verify=False, batch_size="max")
    assert result.ok, result
    (size,) = {case["batch_size"] for case in result.document["cases"]}
    share = 1_800 - 512
    assert 10 * size + 50 <= share < 10 * size * (1 + 1 / COARSE) + 50


def test_what_others_hold_is_not_shared_out(gpu):
    gpu(memory=4_000, others=2_000)
    (case,) = mbench.run("tiny", **QUICK, verify=False, batch_size="max").document["cases"]
    assert case["outcome"] == "ok"
    assert 10 * case["batch_size"] + 50 <= 2_000 * 0.9 - 512


def test_a_framework_without_a_limit_of_its_own_is_watched(gpu):
    """The worker may hold a tenth more than its share, including the driver's part."""
    gpu(memory=4_000, obeys=False)
    result = mbench.compare(["tiny", "tiny"], **QUICK, verify=False, batch_size="max")
    assert result.ok, result
    size = result.document["cases"][0]["batch_size"]
    assert 10 * size + 50 + 100 <= 2_000 < 10 * size * (1 + 1 / COARSE) + 50 + 100
    tried = [one for search in result.document["searches"] for one in search["tried"]]
    assert any("of the GPU's memory; its share is 1,800 MiB" in one["reason"] for one in tried)


def test_a_case_beyond_its_share_ends_by_name_and_the_other_goes_on(gpu):
    gpu(obeys=False)
    result = mbench.compare(["tiny", "flaky"], **{**QUICK, "batch_size": 600}, verify=False)
    ends = {label: (case["outcome"], case["reason"]) for label, case in cases(result).items()}
    assert ends["tiny"][0] == ends["flaky"][0] == "oom"
    assert "6,150 MiB of the GPU's memory; its share is 4,500 MiB" in ends["tiny"][1]
    alone = mbench.run("tiny", **{**QUICK, "batch_size": 600}, verify=False)
    assert alone.ok, alone


def test_a_framework_that_runs_out_says_so_itself(gpu):
    gpu()
    result = mbench.run("tiny", **{**QUICK, "batch_size": 2_000}, verify=False)
    (case,) = result.document["cases"]
    assert (case["outcome"], case["reason"]) == (
        "oom", "OutOfDeviceMemory: tried to allocate 20000 MiB"
    )  # fmt: skip


def test_a_memory_limit_is_one_of_the_device(gpu):
    gpu()
    limited = {**QUICK, "verify": False, "batch_size": "max", "memory_limit": "2GiB"}
    (case,) = mbench.run("tiny", **limited).document["cases"]
    assert 10 * case["batch_size"] + 50 <= 2048 - 512
    assert 10 * case["batch_size"] * (1 + 1 / COARSE) + 50 > 2048 - 512


def test_only_one_process_is_let_in(gpu):
    """As on many clusters: a framework alone is measured, two side by side are refused."""
    gpu(exclusive=True)
    with pytest.raises(mbench.UsageError, match="compute mode, exclusive to a process, forbids"):
        mbench.compare(["tiny", "tiny"], **QUICK)
    result = mbench.run("tiny", **QUICK)
    assert result.ok, result


def test_a_clock_that_was_lowered_is_told(gpu):
    gpu(slowed_by=0x40, sm_mhz=900)
    result = mbench.run("tiny", **{**QUICK, "block": 0.3}, verify=False)
    (case,) = result.document["cases"]
    assert case["telemetry"]["gpu"]["sm_mhz"]["median"] == 900
    assert case["telemetry"]["gpu"]["slowed_by"] == {"heat, by the hardware": 1.0}
    assert any("heat" in one["text"] for one in case["disturbances"])


def test_steps_that_a_loss_scale_skips_neither_fail_nor_fool_a_proof(gpu):
    """Four steps overflow before a loss scale is found, as on every GPU in amp-fp16."""
    gpu(largest_scale=2.0**12)
    scaled = {**QUICK, "precision": "amp-fp16"}
    result = mbench.compare(["tiny", "tiny"], **scaled)
    assert result.ok, result
    assert all(case["equal_work"]["proven"] for case in result.document["cases"])
    assert not any(case["doubts"] for case in result.document["cases"])


def test_a_loss_scale_that_is_never_found_fails_by_name(gpu):
    gpu(largest_scale=0.0)
    result = mbench.run("tiny", **{**QUICK, "precision": "amp-fp16"})
    (case,) = result.document["cases"]
    assert case["outcome"] != "ok"
    assert "overflow" in case["reason"] or "scale" in case["reason"]


def test_a_worker_on_another_gpu_is_not_compared(gpu, monkeypatch):
    gpu()
    start, seen = local.LocalWorker.start, []

    def elsewhere(self, message):
        info = start(self, message)
        seen.append(info)
        return replace(info, device_address=f"0000:{len(seen):02x}:00.0")

    monkeypatch.setattr(local.LocalWorker, "start", elsewhere)
    result = mbench.compare(["tiny", "flaky"], **QUICK, verify=False)
    (lost,) = [case for case in result.document["cases"] if case["outcome"] != "ok"]
    assert lost["reason"].startswith("it uses the device at 0000:0")
    assert "make the same device the first visible one" in lost["reason"]


def test_workers_are_ours_among_those_on_the_gpu(gpu):
    gpu(slowed_by=0)
    result = mbench.run("tiny", **{**QUICK, "block": 0.3}, verify=False)
    (case,) = result.document["cases"]
    assert not [one for one in case["disturbances"] if one["kind"] == "gpu-others"]
    assert psutil.Process().children() == []


def test_a_proof_on_one_gpu_is_none_on_another(gpu, capfd):
    remembered = []
    for name in ("One", "One", "Another"):
        gpu(name=f"NVIDIA {name}")
        assert mbench.verify("tiny", models="tiny-model", device="cuda", threads=1).ok
        remembered.append("proven before" in capfd.readouterr().err)
    assert remembered == [False, True, False]


def test_the_device_is_woken_by_a_turn_that_is_not_timed(gpu, capfd):
    gpu()
    result = mbench.run("tiny", **{**QUICK, "quiet": False}, verify=False)
    assert result.ok
    assert "waking the device" in capfd.readouterr().err


def test_what_the_maker_promises_is_told(gpu):
    gpu(name="NVIDIA H100 80GB HBM3")
    (case,) = mbench.run("tiny", **QUICK, verify=False).document["cases"]
    assert case["data_sheet_flops_per_second"] == 67e12


@pytest.fixture
def explained(gpu, monkeypatch, tmp_path):
    """A function that runs `mbench explain --kernels` for two frameworks, and returns stdout."""

    def explained(*arguments, fault=""):
        gpu()
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("FLAKY", fault)
        usual = ["--models", "tiny-model", "--mode", "inference", "--threads", "1", "--processes",
                 "3", "--rounds", "1", "--block", "0.01", "--no-verify", "--device", "cuda",
                 "--precision", "fp32", "--kernels", "--quiet", "--results", "runs"]  # fmt: skip
        done = CliRunner().invoke(group, ["explain", "tiny", "flaky", *usual, *arguments])
        assert done.exit_code == 0, done.output
        return done.stdout

    return explained


def test_a_profiler_tells_which_kernels_one_step_launches(explained, tmp_path):
    document = json.loads(explained("--format", "json"))
    tiny, flaky = document["kernels"]
    assert tiny == {**flaky, "label": "tiny"}
    assert (tiny["reason"], tiny["profiled"], tiny["unread"]) == ("", True, 0)
    assert tiny["libraries"] == {"CUDA": ""}
    told = [(one["primitive"], one["implementation"], one["shape"]) for one in tiny["kernels"]]
    assert told == [
        ("copy host to device", COPY, ""), ("kernel", KERNEL, "grid 1x1x1 block 128x1x1"),
        ("kernel", KERNEL, "grid 8x1x1 block 128x1x1"),
    ]  # fmt: skip
    assert [one["count"] for one in tiny["kernels"]] == [1, 1, 1], "of the step that counts alone"
    assert [one["moved_bytes"] for one in tiny["kernels"]] == [64.0, None, None]
    assert {one["library"] for one in tiny["kernels"]} == {"CUDA"}
    traces = sorted(file.name for file in tmp_path.glob("runs/*/logs/*.trace/*.json"))
    assert traces == ["tiny.json", "tiny.json"], "they are kept beside the logs"


def test_without_a_profiler_one_line_says_so_and_the_other_is_told(explained):
    said = explained("--format", "markdown", fault="blind")
    assert "tiny: kernels of one step, by CUDA**" in said
    assert "| kernel | product&lt;4, Plus&lt;…>> | 2 | 0.01 | - |" in said
    assert "in total: 1 x copy host to device (6.4e-05 MB), 2 x kernel" in said
    assert "flaky: kernels of one step, by no profiler" in said
    assert "unsupported: Flaky's adapter has no profiler that lists kernels" in said
