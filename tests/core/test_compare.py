"""`mbench compare` as a user meets it: real processes, real faults, through the command line."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

MBENCH = [sys.executable, "-m", "mbench"]
QUICK = ["--models", "tiny-model", "--processes", "2", "--rounds", "2", "--threads", "1"]
QUICK += ["--block", "0.05", "--no-mfu"]


@pytest.fixture
def surroundings(tmp_path, monkeypatch):
    """A folder of its own to work in, and nothing remembered from elsewhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MBENCH_PROOFS", str(tmp_path / "proofs"))
    monkeypatch.setenv("MBENCH_ENVIRONMENTS", str(tmp_path / "environments"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.delenv("MBENCH_RESULTS", raising=False)
    yield tmp_path
    assert list((tmp_path / "tmp").iterdir()) == [], "temporary files were left behind"
    assert_no_workers(tmp_path)


def workers_of(folder: Path) -> list[psutil.Process]:
    """Live processes of workers that were started in `folder`; zombies do not count."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        line = " ".join(process.info["cmdline"] or [])
        if "bootstrap.py" in line and process.info["status"] != psutil.STATUS_ZOMBIE:
            try:
                if process.cwd().startswith(str(folder)):
                    found.append(process)
            except psutil.Error:
                continue
    return found


def assert_no_workers(folder: Path) -> None:
    deadline = time.monotonic() + 10
    while workers_of(folder):
        assert time.monotonic() < deadline, f"left behind: {workers_of(folder)}"
        time.sleep(0.1)


def compare(*arguments: str, fault: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*MBENCH, "compare", *arguments],
        env={**os.environ, "FLAKY": fault},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def documents(result: subprocess.CompletedProcess[str]) -> tuple[dict, dict[str, dict]]:
    """The document and its cases by label; strict JSON."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    document = json.loads(result.stdout, parse_constant=refuse)
    return document, {case["label"]: case for case in document["cases"]}


def one_line(result: subprocess.CompletedProcess[str]) -> str:
    """The error message, which is the last line and no traceback."""
    assert "Traceback" not in result.stderr
    return result.stderr.strip().splitlines()[-1]


def test_the_same_against_itself_shows_no_difference(surroundings):
    result = compare("--frameworks", "tiny,tiny", *QUICK, "--processes", "3", "--format", "json")
    assert result.returncode == 0, result.stderr
    document, cases = documents(result)
    assert list(cases) == ["tiny#1", "tiny#2"]
    (comparison,) = document["comparisons"]
    assert comparison["process_pairs"] == 3
    assert comparison["low"] <= comparison["ratio"] <= comparison["high"]
    # 19 times of 20 the interval holds 1; always it is near.
    assert 0.5 < comparison["ratio"] < 2
    for case in cases.values():
        assert case["outcome"] == "ok"
        assert case["equal_work"]["proven"] is True
        assert case["throughput"]["low"] <= case["throughput"]["high"]
        assert case["rounds"] == 6
        assert case["peak_memory_bytes"] > 2**20
        assert case["first_step_seconds"] > 0
    assert "raw values in mbench-results" in one_line(result)


def test_a_planted_slowness_is_found(surroundings):
    result = compare(
        "--frameworks", "tiny,flaky", *QUICK, "--processes", "4", "--format", "json", fault="slow"
    )
    document, _ = documents(result)
    (comparison,) = document["comparisons"]
    assert comparison["verdict"] == "slower"
    assert comparison["high"] < 0.5


def test_a_planted_load_is_told_in_result_and_table(surroundings):
    load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        result = compare("--frameworks", "tiny,tiny", *QUICK, "--block", "0.3")
    finally:
        for process in load:
            process.kill()
            process.wait()
    assert result.returncode == 0, result.stderr
    told = r"DISTURBED, tiny#1: .*other processes used [\d.]+ of \d+ cores in \d+ % of the rounds"
    assert re.search(told, result.stdout)
    assert "; DISTURBED" in " ".join(result.stdout.split())
    shown = subprocess.run(
        [*MBENCH, "show", "--format", "json"], capture_output=True, text=True, check=True
    )
    document, cases = documents(shown)
    for case in cases.values():
        assert "other-load" in [disturbance["kind"] for disturbance in case["disturbances"]]
        assert case["telemetry"]["other_cores"]["highest"] > 0.1
        assert case["telemetry"]["rounds"] == 4
    (comparison,) = document["comparisons"]
    assert [text.partition(":")[0] for text in comparison["disturbances"]][:1] == ["tiny#1"]


def test_the_machines_ceiling_is_found_once_and_mfu_is_a_share_of_it(surroundings):
    result = compare(
        "--frameworks", "tiny,tiny", *QUICK, "--mfu", "--batch-size", "32,64", "--format", "json"
    )
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    ceilings = [case["ceiling"] for case in document["cases"]]
    assert ceilings == ceilings[:1] * 4
    assert ceilings[0]["flops_per_second"] > 1e7
    assert ceilings[0]["bytes_per_second"] > 1e7
    assert ceilings[0]["reason"] == ""
    for case in document["cases"]:
        spent = case["throughput"]["median"] * case["flops_per_sample"]
        assert case["mfu"] == pytest.approx(spent / ceilings[0]["flops_per_second"])
        assert 0 < case["mfu"] < 1
    assert result.stderr.count("measuring the machine's ceiling") == 1


def test_a_noise_floor_is_kept_and_stands_beside_later_verdicts(surroundings, monkeypatch):
    monkeypatch.setenv("MBENCH_CALIBRATIONS", str(surroundings / "calibrations"))
    before = compare("--frameworks", "tiny,flaky", *QUICK)
    assert "noise floor" not in before.stdout
    calibrated = subprocess.run(
        [*MBENCH, "calibrate", "tiny", *QUICK, "--processes", "3"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert calibrated.returncode == 0, calibrated.stderr
    assert re.match(r"tiny \S+, tiny-model train, batch 64, fp32, eager: noise floor [\d.]+ % with "
                    "3 process pairs", calibrated.stdout)  # fmt: skip
    after = compare("--frameworks", "tiny,flaky", *QUICK, "--format", "json")
    document, cases = documents(after)
    assert len(cases["tiny"]["calibration"]["ratios"]) == 3
    assert cases["flaky"]["calibration"] is None
    assert document["comparisons"][0]["noise_floor"] > 0
    other = compare("--frameworks", "tiny,flaky", *QUICK, "--batch-size", "32")
    assert "noise floor" not in other.stdout, "another case has another floor"


def test_one_process_pair_gives_no_interval_and_no_winner(surroundings):
    result = compare(
        "--frameworks", "tiny,flaky", *QUICK, "--processes", "1", "--format", "json", fault="slow"
    )
    (comparison,) = documents(result)[0]["comparisons"]
    assert comparison["verdict"] == "undetermined"
    assert comparison["low"] is None


@pytest.mark.parametrize(
    ("fault", "outcome", "reason"),
    [
        ("kill@300", "crashed", "killed by SIGKILL"),
        ("exit@300", "crashed", "exited with code 3; its last words: going down"),
        ("raise@300", "failed", "RuntimeError: the tiny framework has lost its mind"),
        ("raise@1", "failed", "RuntimeError: the tiny framework has lost its mind"),
        ("oom@300", "oom", "MemoryError"),
        ("hang@300", "timeout", "no answer within 3 s"),
        ("silent", "timeout", "no answer within 3 s"),
    ],
)
def test_a_fault_ends_its_own_case_only(surroundings, fault, outcome, reason):
    result = compare(
        "--frameworks", "flaky,tiny", *QUICK, "--timeout", "3", "--no-verify",
        "--format", "json", fault=fault,
    )  # fmt: skip
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    document, cases = documents(result)
    assert cases["flaky"]["outcome"] == outcome
    assert reason in cases["flaky"]["reason"]
    assert "\n" not in cases["flaky"]["reason"]
    assert Path(cases["flaky"]["log"]).exists()
    assert cases["tiny"]["outcome"] == "ok"
    assert cases["tiny"]["rounds"] == 4
    (comparison,) = document["comparisons"]
    assert comparison["verdict"] is None
    assert outcome in comparison["reason"]


@pytest.mark.parametrize(
    ("lie", "culprit"),
    [
        ("frozen", "updates: change of bias"),
        ("no-decay", "optimizer: change of weight"),
        ("unscaled", "common factor 8"),
        ("extra", "surplus is too many"),
    ],
)
def test_unequal_work_is_not_compared(surroundings, lie, culprit):
    result = compare("--frameworks", "tiny,flaky", *QUICK, "--format", "json", fault=lie)
    assert result.returncode == 1
    document, cases = documents(result)
    assert cases["flaky"]["outcome"] == "not-equal"
    assert culprit in cases["flaky"]["reason"]
    assert cases["tiny"]["outcome"] == "ok"
    assert document["comparisons"][0]["verdict"] is None


def test_unequal_work_is_compared_on_demand_and_marked(surroundings):
    result = compare("--frameworks", "tiny,flaky", *QUICK, "--allow-unequal", fault="no-decay")
    assert result.returncode == 0
    assert "equal work: NOT PROVEN, flaky: optimizer" in " ".join(result.stdout.split())


def test_what_is_not_verified_says_so_loudly(surroundings):
    result = compare("--frameworks", "tiny,flaky", *QUICK, "--no-verify")
    assert result.returncode == 0
    assert "equal work: NOT CHECKED" in " ".join(result.stdout.split())


def test_a_proof_is_made_once(surroundings):
    first = compare("--frameworks", "tiny,flaky", *QUICK)
    again = compare("--frameworks", "tiny,flaky", *QUICK)
    assert "proving" in first.stderr
    assert "proving" not in again.stderr


def test_lists_multiply_and_what_cannot_be_is_unsupported(surroundings):
    result = compare(
        "--frameworks", "tiny,flaky", *QUICK, "--mode", "train,inference", "--precision",
        "fp32,amp-bf16", "--batch-size", "8,16", "--format", "json",
    )  # fmt: skip
    assert result.returncode == 1
    document = json.loads(result.stdout)
    assert len(document["cases"]) == 2 * 2 * 2 * 2
    for case in document["cases"]:
        expected = "ok" if case["precision"] == "fp32" else "unsupported"
        assert case["outcome"] == expected
        if expected == "unsupported":
            assert case["reason"] == "tiny knows fp32 and fp64 only"
        elif case["mode"] == "inference":
            assert case["step_time_ms"]["p50"] <= case["step_time_ms"]["p99"]
        else:
            assert case["step_time_ms"]["p50"] is None


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*MBENCH, "compare", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # its own terminal, as it were
    )


def wait_for(run: subprocess.Popen[str], text: str) -> None:
    """Read stderr until a line holds `text`."""
    assert run.stderr is not None
    for line in run.stderr:
        if text in line:
            return
    raise AssertionError(f"{text!r} never came")


@pytest.mark.parametrize("moment", ["starting", "warming up", "measuring"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_keeps_what_was_measured(surroundings, moment, number):
    run = start(
        "--frameworks", "tiny,flaky", *QUICK, "--rounds", "200", "--no-verify", "--format", "json"
    )
    wait_for(run, moment)
    if moment == "measuring":
        time.sleep(3)
    os.killpg(run.pid, number)  # as a terminal does it: the whole foreground group
    out, err = run.communicate(timeout=20)
    assert run.returncode == 130
    assert "Traceback" not in err
    (folder,) = Path("mbench-results").iterdir()
    assert f"interrupted; what was measured is in {folder}" in err
    document = json.loads(out)
    assert document["status"] == "interrupted"
    if moment == "measuring":
        assert document["cases"][0]["outcome"] == "ok"
        assert document["cases"][0]["rounds"] >= 1
    shown = subprocess.run(
        [*MBENCH, "show", "--format", "json"], capture_output=True, text=True, check=True
    )
    assert json.loads(shown.stdout) == document


def test_workers_die_with_a_killed_parent_even_while_stopped(surroundings):
    run = start("--frameworks", "tiny,flaky", *QUICK, "--rounds", "200", "--no-verify")
    wait_for(run, "measuring")
    time.sleep(1)
    states = {process.status() for process in workers_of(surroundings)}
    assert len({os.getpgid(process.pid) for process in workers_of(surroundings)}) == 2
    assert psutil.STATUS_STOPPED in states
    run.kill()
    run.communicate()
    assert_no_workers(surroundings)


def test_results_go_where_they_are_told_and_failing_that_nothing_is_measured(surroundings):
    Path("file").write_text("not a folder")
    result = compare("--frameworks", "tiny,flaky", *QUICK, "--results", "file/inside")
    assert result.returncode == 1
    assert "cannot write results to file/inside" in one_line(result)
    assert "starting" not in result.stderr
    elsewhere = compare(
        "--frameworks", "tiny,flaky", *QUICK, "--results", "else/where", "--output", "report.csv",
        "--format", "csv",
    )  # fmt: skip
    assert elsewhere.returncode == 0
    assert elsewhere.stdout == ""
    assert Path("report.csv").read_text().startswith("label,framework,version")
    assert len(list(Path("else/where").iterdir())) == 1


def test_the_budget_ends_a_comparison_early_and_says_so(surroundings):
    result = compare(
        "--frameworks", "tiny,flaky", "--models", "tiny-model", "--threads", "1", "--block", "0.2",
        "--processes", "50", "--budget", "8", "--format", "json",
    )  # fmt: skip
    document, cases = documents(result)
    assert result.returncode == 0
    assert document["comparisons"][0]["reason"] == "budget of 8 s spent"
    assert 1 <= cases["tiny"]["processes"] < 50


def test_run_measures_one_framework(surroundings):
    result = subprocess.run(
        [*MBENCH, "run", "tiny", *QUICK, "--format", "json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    document, cases = documents(result)
    assert result.returncode == 0
    assert list(cases) == ["tiny"]
    assert document["comparisons"] == []


def test_an_environment_that_cannot_be_built_ends_its_own_case_only(surroundings, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    for variable in ("PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(variable, raising=False)
    result = compare("--frameworks", "tiny,tiny==9.9", *QUICK, "--format", "json")
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    _, cases = documents(result)
    assert cases["tiny"]["outcome"] == "ok"
    assert cases["tiny==9.9"]["outcome"] == "failed"
    assert "numpy==9.9" in cases["tiny==9.9"]["reason"]
    built = surroundings / "environments"
    assert [path for path in built.iterdir() if path.is_dir()] == []


def test_no_provision_refuses_and_names_the_mend(surroundings):
    result = compare("--frameworks", "tiny,tiny==9.9", *QUICK, "--no-provision", "--format", "json")
    assert result.returncode == 1
    _, cases = documents(result)
    assert cases["tiny==9.9"]["outcome"] == "failed"
    assert "mbench env create tiny==9.9" in cases["tiny==9.9"]["reason"]


def test_a_python_of_ones_own(surroundings):
    own = f"tiny@{sys.executable}"
    result = compare("--frameworks", f"tiny,{own}", *QUICK, "--format", "json")
    assert result.returncode == 0, result.stderr
    assert documents(result)[1][own]["environment"]["python"] == sys.executable
    missing = compare("--frameworks", "tiny,tiny@/no/such/python", *QUICK)
    assert missing.returncode == 2
    assert "/no/such/python" in one_line(missing)


def test_the_parent_stays_small_and_idle(surroundings):
    run = start("--frameworks", "tiny,flaky", *QUICK, "--rounds", "100", "--no-verify")
    wait_for(run, "measuring")
    parent = psutil.Process(run.pid)
    before = sum(parent.cpu_times()[:2])
    time.sleep(3)
    assert parent.memory_info().rss < 100 * 2**20
    assert sum(parent.cpu_times()[:2]) - before < 1.0
    os.killpg(run.pid, signal.SIGINT)
    run.communicate(timeout=20)
