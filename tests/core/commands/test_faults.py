"""What goes wrong in `mbench compare`, made to happen: faults, interruptions, a killed parent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from comparing import (
    MBENCH,
    ONCE,
    QUICK,
    assert_no_workers,
    compare,
    documents,
    one_line,
    start,
    wait_for,
    workers_of,
)


@pytest.mark.parametrize(
    ("fault", "outcome", "reason"),
    [
        ("kill@50", "crashed", "killed by SIGKILL"),
        ("exit@50", "crashed", "exited with code 3; its last words: going down"),
        ("raise@50", "failed", "RuntimeError: the tiny framework has lost its mind"),
        ("raise@1", "failed", "RuntimeError: the tiny framework has lost its mind"),
        ("oom@50", "oom", "MemoryError"),
        ("hang@50", "timeout", "no answer within 8 s"),
        ("silent", "timeout", "no answer within 8 s"),
    ],
)
def test_a_fault_ends_its_own_case_only(surroundings, fault, outcome, reason):
    result = compare(
        "--frameworks", "flaky,tiny", *ONCE, *(["--timeout", "8"] if outcome == "timeout" else []),
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
    assert cases["tiny"]["rounds"] == 1
    (comparison,) = document["comparisons"]
    assert comparison["verdict"] is None
    assert outcome in comparison["reason"]


def test_an_environment_that_cannot_be_built_ends_its_own_case_only(surroundings, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    for variable in ("PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(variable, raising=False)
    result = compare("--frameworks", "tiny,tiny==9.9", *ONCE, "--format", "json")
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    _, cases = documents(result)
    assert cases["tiny"]["outcome"] == "ok"
    assert cases["tiny==9.9"]["outcome"] == "failed"
    assert "numpy==9.9" in cases["tiny==9.9"]["reason"]
    built = surroundings / "environments"
    assert [path for path in built.iterdir() if path.is_dir()] == []


def test_no_provision_refuses_and_names_the_mend(surroundings):
    result = compare("--frameworks", "tiny,tiny==9.9", *ONCE, "--no-provision", "--format", "json")
    assert result.returncode == 1
    _, cases = documents(result)
    assert cases["tiny==9.9"]["outcome"] == "failed"
    assert "mbench env create tiny==9.9" in cases["tiny==9.9"]["reason"]


def test_a_python_of_ones_own(surroundings):
    own = f"tiny@{sys.executable}"
    result = compare("--frameworks", f"tiny,{own}", *ONCE, "--format", "json")
    assert result.returncode == 0, result.stderr
    assert documents(result)[1][own]["environment"]["python"] == sys.executable
    missing = compare("--frameworks", "tiny,tiny@/no/such/python", *QUICK)
    assert missing.returncode == 2
    assert "/no/such/python" in one_line(missing)


def test_results_go_where_they_are_told_and_failing_that_nothing_is_measured(surroundings):
    Path("file").write_text("not a folder")
    result = compare("--frameworks", "tiny,flaky", *QUICK, "--results", "file/inside")
    assert result.returncode == 1
    assert "cannot write results to file/inside" in one_line(result)
    assert "starting" not in result.stderr
    elsewhere = compare(
        "--frameworks", "tiny,flaky", *ONCE, "--results", "else/where", "--output", "report.csv",
        "--format", "csv",
    )  # fmt: skip
    assert elsewhere.returncode == 0
    assert elsewhere.stdout == ""
    assert Path("report.csv").read_text().startswith("label,framework,version")
    assert len(list(Path("else/where").glob("*/"))) == 1


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        ("starting", signal.SIGINT),
        ("warming up", signal.SIGINT),
        ("measuring", signal.SIGINT),
        ("measuring", signal.SIGTERM),
    ],
)
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
    (folder,) = Path("mbench-results").glob("*/")
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


def test_where_ctrl_c_is_ignored_sigterm_keeps_what_was_measured(surroundings):
    """As `nohup` or a script's `&` starts it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        run = start(
            "--frameworks", "tiny,flaky", *QUICK, "--rounds", "200", "--no-verify", "--format",
            "json",
        )  # fmt: skip
    finally:
        signal.signal(signal.SIGINT, before)
    wait_for(run, "measuring")
    os.killpg(run.pid, signal.SIGINT)
    time.sleep(2)
    assert run.poll() is None
    os.killpg(run.pid, signal.SIGTERM)
    out, _ = run.communicate(timeout=20)
    assert run.returncode == 130
    assert json.loads(out)["status"] == "interrupted"


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
