"""Whatever ends mbench itself, no process stays, and the run can be read and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from surroundings import QUICK, eventually

from mbench.reports.progress.lines import LinesProgress
from mbench.reports.progress.reporter import ProgressReporter

if TYPE_CHECKING:
    from surroundings import Surroundings

TWO = ("compare", "--frameworks", "tiny,rogue.wait_for_the_test", *QUICK)
MEASURING = "measuring"
PROVING = "proving"


class Held:
    """A comparison whose rogue waits in its worker's second step, while tiny's is stopped."""

    def __init__(self, around: Surroundings, *options: str, prefix: tuple[str, ...] = ()) -> None:
        self.around = around
        self.go = around.folder / "go"
        command = [*prefix, sys.executable, "-m", "mbench", *TWO, *options]
        self.process = around.popen(command, TEST_GO=str(self.go))
        eventually(self.go.with_suffix(".waiting").exists, "waiting")

    def end(self):
        return self.around.finish(self.process)


@pytest.mark.parametrize("moment", [MEASURING, PROVING])
@pytest.mark.parametrize("name", ["SIGHUP", "SIGKILL", "SIGQUIT"])
def test_whatever_ends_mbench_leaves_a_run_and_no_process(around, name, moment):
    held = Held(around, *(["--verify"] if moment == PROVING else []))
    held.process.send_signal(getattr(signal, name))
    done = held.end()
    eventually(lambda: around.living() == [], "gone")
    assert not list(around.folder.glob("proofs/*rogue*"))
    assert around.mbench("show").code == 0
    if name == "SIGHUP":
        assert done.code == 130
        assert f"--resume {around.run.name} measures the rest" in done.err
    else:
        assert done.code == -getattr(signal, name)


LONG = ("compare", "--frameworks", "tiny,flaky", *QUICK, "--rounds", "2000", "--format", "json")


def starting(around):
    return list(around.results.glob("*/logs/*"))


def blocks(around):
    return any('"block"' in file.read_text() for file in around.results.glob("*/run.jsonl"))


@pytest.mark.parametrize(
    ("reached", "number"),
    [
        (starting, signal.SIGINT),
        (blocks, signal.SIGINT),
        (blocks, signal.SIGTERM),
        (starting, signal.SIGUSR1),
        (blocks, signal.SIGUSR2),
        (blocks, signal.SIGXCPU),
    ],
)
def test_ctrl_c_keeps_what_was_measured(around, reached, number):
    """Row 20 of the table of faults, see test_table.py."""
    process = around.start(*LONG)
    eventually(lambda: reached(around), "so far")
    os.killpg(process.pid, number)  # as a terminal does it: the whole foreground group
    done = around.finish(process)
    assert (done.code, "Traceback" in done.err) == (130, False)
    assert f"--resume {around.run.name} measures the rest" in done.err
    document = json.loads(done.out)
    assert document["status"] == "interrupted"
    assert json.loads(around.mbench("show", "--format", "json").out) == document
    if reached is blocks:
        assert document["cases"][0]["rounds"] >= 1


def test_signals_that_a_batch_system_sends_to_each_process_do_not_kill_workers(around):
    """Slurm's --signal sends such signals before the time limit."""
    process = around.start(*LONG)
    eventually(lambda: blocks(around), "measured")
    found = map(json.loads, (around.run / "run.jsonl").read_text().splitlines())
    workers = [one["pid"] for one in found if one.get("event") == "process"]
    assert workers
    for worker in workers:
        for number in (signal.SIGUSR1, signal.SIGUSR2):
            os.kill(worker, number)
    size = (around.run / "run.jsonl").stat().st_size
    eventually(lambda: (around.run / "run.jsonl").stat().st_size > size, "measured on")
    os.kill(process.pid, signal.SIGUSR1)
    done = around.finish(process)
    document = json.loads(done.out)
    assert (done.code, document["status"]) == (130, "interrupted")
    assert {case["outcome"] for case in document["cases"]} <= {"ok", "not-measured"}


def test_where_ctrl_c_is_ignored_sigterm_keeps_what_was_measured(around):
    """A script's `&` starts commands in this way."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = around.start(*LONG)
    finally:
        signal.signal(signal.SIGINT, before)
    eventually(lambda: blocks(around), "measured")
    os.killpg(process.pid, signal.SIGINT)
    size = (around.run / "run.jsonl").stat().st_size
    eventually(lambda: (around.run / "run.jsonl").stat().st_size > size, "measured on")
    os.killpg(process.pid, signal.SIGTERM)
    done = around.finish(process)
    assert (done.code, json.loads(done.out)["status"]) == (130, "interrupted")


def test_what_a_kill_left_out_is_measured_later(around):
    held = Held(around)
    held.process.kill()
    held.end()
    run = around.run
    held.go.touch()
    done = around.mbench(*TWO, "--resume", run.name, TEST_GO=str(held.go))
    assert (done.code, done.ends) == (0, {})


def test_nobody_stays_stopped_where_orphans_have_a_new_parent_in_the_same_session(around):
    """The kernel wakes no orphaned group then, as in a container whose first process is a shell."""
    adopt = (
        "import ctypes, subprocess, sys, time\n"
        "ctypes.CDLL(None).prctl(36, 1)\n"  # PR_SET_CHILD_SUBREAPER
        "child = subprocess.Popen(sys.argv[1:])\n"
        "print(child.pid, flush=True)\n"
        "child.wait()\n"
        "time.sleep(600)\n"
    )
    held = Held(around, prefix=(sys.executable, "-c", adopt))
    try:
        os.kill(int(held.process.stdout.readline()), signal.SIGKILL)
        eventually(lambda: around.living() == [held.process.pid], "gone")
    finally:
        held.process.kill()
        held.end()


def test_what_left_the_group_dies_with_a_killed_mbench(around):
    process = around.popen(
        [sys.executable, "-m", "mbench", "compare", "--frameworks",
         "rogue.leave_a_session,rogue.leave_a_daemon,rogue.wait_for_the_test", *QUICK],
        TEST_GO=str(around.folder / "go"),
    )  # fmt: skip
    eventually((around.folder / "go.waiting").exists, "waiting")
    process.kill()
    around.finish(process)
    eventually(lambda: around.living() == [], "gone")


SLOW = """
import pathlib, time
from mbench.plugins.hooks import hookimpl
def slow(document):
    pathlib.Path("rendering").touch()
    time.sleep(600)
@hookimpl
def mbench_reports():
    return {"slow": slow}
"""


@pytest.mark.parametrize("interrupted", [False, True], ids=["complete", "interrupted"])
def test_ctrl_c_in_the_report_still_says_where_the_run_is(around, interrupted):
    around.install("plugin_slow", SLOW)
    held = Held(around, "--format", "slow")
    if interrupted:
        held.process.send_signal(signal.SIGINT)
    else:
        held.go.touch()
    eventually((around.folder / "rendering").exists, "rendering")
    held.process.send_signal(signal.SIGINT)
    done = held.end()
    assert done.code == 130
    run = around.run
    assert f"what was measured is in {run.relative_to(around.folder)}" in done.err.replace(
        f"{around.folder}/", ""
    )
    assert f"mbench show {run.name} shows it" in done.err
    assert (f"--resume {run.name} measures the rest" in done.err) is interrupted


def test_ctrl_c_between_measurement_and_report_says_where_the_run_is(mbench, monkeypatch, tmp_path):
    def interrupted(progress):
        monkeypatch.setattr(LinesProgress, "close", ProgressReporter.close)
        raise KeyboardInterrupt

    monkeypatch.setattr(LinesProgress, "close", interrupted)
    results = tmp_path / "results"
    code, out, err = mbench("compare", "tiny", "flaky", *QUICK, "--results", results)
    assert (code, "complete" in out) == (130, True)
    assert f"what was measured is in {results}" in err


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_an_environment_half_built_is_not_left(around, number):
    """The signal comes while pip waits for an index that never answers."""
    around.install(
        "plugin_kept",
        "from mbench.plugins.hooks import hookimpl\nfrom mbench_rogue import Rogue\n"
        "class Kept(Rogue):\n    imports = ('no_such_module',)\n"
        "    def __init__(self):\n        super().__init__('none')\n        self.name = 'kept'\n"
        "    def requirements(self, *_):\n        return ['no-such-distribution==1.0']\n"
        "@hookimpl\ndef mbench_adapters():\n    return [Kept()]\n",
    )
    listener = subprocess.Popen(
        [sys.executable, "-c", "import socket, time; s = socket.create_server(('127.0.0.1', 0))\n"
         "print(s.getsockname()[1], flush=True); s.accept(); print('asked', flush=True)\n"
         "time.sleep(600)"], stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        index = f"http://127.0.0.1:{int(listener.stdout.readline())}/"
        process = around.start("env", "create", "kept", PIP_INDEX_URL=index, PIP_CONFIG_FILE="")
        assert listener.stdout.readline() == "asked\n"
        process.send_signal(number)
        assert around.finish(process).code == 130
    finally:
        listener.kill()
        listener.communicate()
    eventually(lambda: around.living() == [], "gone")
    assert not list((around.folder / "environments").glob("*.tmp-*"))
