"""Steps of the acceptance get their time, end within it, and are recorded."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


def test_limits_shrink_alike_where_time_is_short_and_what_is_left_goes_on(make):
    from acceptance.limits import GRACE, limit_of

    steps = [make("a", seconds=100.0), make("b", seconds=100.0)]
    assert limit_of(steps, None) == 100
    assert limit_of(steps, 1000) == 100
    assert limit_of(steps, 100 + GRACE) == pytest.approx(50)
    assert limit_of(steps[1:], 90 + GRACE) == pytest.approx(90)
    later = [make("a", seconds=100.0), make("b", seconds=100.0, phase="breadth")]
    assert limit_of(later, 150 + GRACE) == pytest.approx(100)


def test_a_step_gets_its_least_or_does_not_begin(make):
    from acceptance.limits import GRACE, limit_of

    steps = [make("a", seconds=100.0, least=10), make("b", seconds=900.0)]
    assert limit_of(steps, 20 + GRACE) == 10
    assert limit_of(steps, 5 + GRACE) is None


def test_steps_pass_fail_run_out_of_time_and_are_skipped_with_a_reason(make, conduct, tmp_path):
    endless = "import time; print('{\"half\": 1}', flush=True); time.sleep(60)"
    complete, record = conduct([
        make("well"),
        make("wrong", "import sys; sys.exit('no such thing')"),
        make("elsewhere", skip="needs a GPU"),
        make("endless", endless, seconds=0.5),
    ])  # fmt: skip
    assert complete
    found = {one.name: one for one in record.results}
    assert [one.outcome for one in record.results] == ["passed", "failed", "skipped", "out of time"]
    assert found["wrong"].reason == "exit code 1: no such thing"
    assert found["elsewhere"].reason == "needs a GPU"
    assert "limit of 0 s" in found["endless"].reason or "limit of 1 s" in found["endless"].reason
    assert found["endless"].returncode == -signal.SIGINT or found["endless"].returncode == 1
    assert found["endless"].figures == {"probe": {"half": 1}}
    assert not record.well
    written = json.loads((tmp_path / "acceptance.json").read_text())
    assert [one["name"] for one in written["results"]] == list(found)
    assert not list(tmp_path.glob("*.new"))


def test_no_step_begins_without_time(make, conduct):
    _, record = conduct([make("late", least=10.0)], seconds=12.0)
    assert record.results[0].outcome == "out of time"
    assert "takes 10 s or more" in record.results[0].reason
    assert not record.well


def test_what_ignores_its_limit_is_killed(make, conduct):
    code = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(60)"
    begin = time.monotonic()
    _, record = conduct([make("deaf", code, seconds=1.0)], grace=0.5)
    assert time.monotonic() - begin < 20
    assert record.results[0].outcome == "out of time"
    assert record.results[0].returncode == -signal.SIGKILL


def test_what_a_step_leaves_behind_is_killed_and_told(make, conduct, monkeypatch):
    from acceptance import child

    monkeypatch.setattr(child.sweep, "__kwdefaults__", {"seconds": 0.3})
    code = (
        "import subprocess, sys; print('{\"told\": 1}')\n"
        "left = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'],"
        " start_new_session=True); left.returncode = 0"
    )
    _, record = conduct([make("litter", code)])
    assert record.results[0].outcome == "failed"
    assert "processes were left and killed" in record.results[0].reason
    assert "time.sleep(60)" in record.results[0].reason


def test_what_has_passed_is_not_done_again(make, conduct):
    _, record = conduct([make("well")])
    (passed,) = record.results
    _, again = conduct([make("well", "raise SystemExit(3)"), make("new")], before={"well": passed})
    assert [one.outcome for one in again.results] == ["passed", "passed"]
    assert again.results[0] == passed


def test_resuming_reads_what_was_written(make, conduct, tmp_path):
    from acceptance.record import load

    assert load(tmp_path) == {}
    _, record = conduct([make("well")])
    assert load(tmp_path) == {"well": record.results[0]}
    (tmp_path / "acceptance.json").write_text("[]")
    with pytest.raises(ValueError, match="no record"):
        load(tmp_path)


@pytest.mark.parametrize("resumed", [False, True])
def test_ctrl_c_stops_the_step_and_keeps_what_there_is(tmp_path, resumed):
    code = f"""
import sys; sys.path.insert(0, {str(BENCHMARKS)!r})
import cuda
from acceptance.judges import probed
from acceptance.step import Step
def of(name, code, phase="nine"):
    return Step(name=name, phase=phase, about=name, program=("-c", code), judge=probed, seconds=60)
cuda.nine.steps = lambda setting: [
    of("well", "print('{{}}'.format('{{\\"told\\": 1}}'))"),
    of("long", "import time; print('{{\\"half\\": 1}}', flush=True); time.sleep(60)"),
    of("later", ""),
]
from acceptance.conduct import Conductor
Conductor.look = lambda *_: {{
    "names": {{"torch": "torch"}}, "sizes": {{"m": []}}, "supported": {{}}, "absent": [],
    "gpu": None, "on_gpu": None, "machine": {{}}, "versions": {{}},
}}
sys.exit(cuda.main())
"""
    command = [sys.executable, "-c", code, "--device", "cpu", "--output", str(tmp_path),
               *(["--resume"] if resumed else [])]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    report = tmp_path / "steps" / "long.json"
    until = time.monotonic() + 30
    while not (report.exists() and report.read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130, said
    found = json.loads((tmp_path / "acceptance.json").read_text())
    assert found["status"] == "interrupted"
    outcomes = {one["name"]: (one["outcome"], one["reason"]) for one in found["results"]}
    assert outcomes["well"][0] == "passed"
    assert outcomes["long"][0] == "skipped"
    assert outcomes["long"][1].startswith("interrupted after")
    assert outcomes["later"] == ("skipped", "interrupted before")
    assert outcomes["nothing left"][0] == "passed"
    (long,) = [one for one in found["results"] if one["name"] == "long"]
    assert long["figures"] == {"probe": {"half": 1}}
