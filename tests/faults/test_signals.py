"""Batch systems send signals before a time limit: in every phase, the run says how to go on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest
from surroundings import QUICK, eventually
from test_endings import SLOW
from test_environments import FRAMEWORK

TWO = ("compare", "tiny", "rogue.wait_for_the_test", *QUICK)
LISTENER = (
    "import socket, time; s = socket.create_server(('127.0.0.1', 0))\n"
    "print(s.getsockname()[1], flush=True); s.accept(); print('asked', flush=True)\n"
    "time.sleep(600)"
)


def ended(around, process, number):
    process.send_signal(number)
    done = around.finish(process)
    assert done.code == 130, done.err
    assert "Traceback" not in done.err
    eventually(lambda: around.living() == [], "gone")
    return done


@pytest.mark.parametrize(
    ("phase", "number"),
    [("proving", signal.SIGUSR1), ("proving", signal.SIGXCPU), ("proving", signal.SIGTERM),
     ("warming up", signal.SIGUSR2), ("warming up", signal.SIGHUP)],
)  # fmt: skip
def test_a_signal_while_a_worker_computes_ends_the_run_with_its_line(around, phase, number):
    """The worker waits in its second step, which is one of the proof or of the warm-up."""
    go = around.folder / "go"
    options = ["--verify"] if phase == "proving" else []
    process = around.start(*TWO, *options, "--format", "json", TEST_GO=str(go))
    eventually(go.with_suffix(".waiting").exists, phase)
    done = ended(around, process, number)
    assert json.loads(done.out)["status"] == "interrupted"
    assert f"--resume {around.run.name} measures the rest" in done.err


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGXCPU])
def test_a_signal_while_an_environment_is_built_leaves_none(around, number):
    """The signal comes in a comparison, while pip waits for an index that never answers."""
    around.install("plugin_kept", FRAMEWORK.replace("{names!r}", "('kept',)"))
    listener = subprocess.Popen([sys.executable, "-c", LISTENER], stdout=subprocess.PIPE, text=True)
    try:
        index = f"http://127.0.0.1:{int(listener.stdout.readline())}/"
        process = around.start("compare", "tiny", "kept", *QUICK, PIP_INDEX_URL=index,
                               PIP_CONFIG_FILE="/dev/null", PIP_NO_INDEX="0")  # fmt: skip
        assert listener.stdout.readline() == "asked\n"
        done = ended(around, process, number)
    finally:
        listener.kill()
        listener.communicate()
    assert not list((around.folder / "environments").glob("*.tmp-*"))
    assert f"--resume {around.run.name}" in done.err


@pytest.mark.parametrize("number", [signal.SIGUSR2, signal.SIGXCPU])
def test_a_signal_in_the_report_says_where_the_run_is(around, number):
    around.install("plugin_slow", SLOW)
    process = around.start("compare", "tiny", "flaky", *QUICK, "--format", "slow")
    eventually((around.folder / "rendering").exists, "rendering")
    done = ended(around, process, number)
    assert f"mbench show {around.run.name} shows it" in done.err
    assert around.mbench("show").code == 0
