"""The functions in a thread other than the main one, as in notebook servers and job servers."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import textwrap
import time

import psutil
import pytest
from workers import eventually

SCRIPT = """
import threading, time
from concurrent.futures import ThreadPoolExecutor
import mbench

def measure(rounds=400):
    try:
        found = mbench.compare(
            ["tiny", "tiny"], models="tiny-model", processes=1, rounds=rounds, block=0.05,
            verify=False, mfu=False, results="results", quiet=True, threads=1,
        )
        print("measured", found.ok, flush=True)
    except BaseException as error:
        print(type(error).__name__, flush=True)
        raise

"""
WAITS = {
    "join": """
        thread = threading.Thread(target=measure)
        thread.start()
        thread.join()
    """,
    "sleep": """
        threading.Thread(target=measure).start()
        time.sleep(100)
    """,
    "pool": """
        with ThreadPoolExecutor() as pool:
            pool.submit(measure).result()
    """,
}


def workers_in(folder):
    """mbench's workers whose working folder this is."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if "bootstrap.py" in " ".join(process.cmdline()) and process.cwd() == str(folder):
                found.append(process)
    return found


@pytest.fixture
def script(tmp_path):
    """A function that starts a script; scripts still running at the end are killed."""
    started = []

    def script(main):
        file = tmp_path / "script.py"
        file.write_text(SCRIPT + textwrap.dedent(main))
        started.append(
            subprocess.Popen(
                [sys.executable, str(file)], cwd=tmp_path, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )
        )  # fmt: skip
        return started[-1]

    yield script
    for process in started:
        process.kill()
        process.communicate()


def test_a_thread_measures(script):
    said, errors = script(WAITS["pool"].replace("measure)", "measure, 2)")).communicate()
    assert said == "measured True\n", errors


@pytest.mark.parametrize("how", WAITS)
def test_ctrl_c_in_the_main_thread_ends_workers(script, tmp_path, how):
    process = script(WAITS[how])
    deadline = time.monotonic() + 60
    while not any(
        '"event":"block"' in file.read_text() for file in tmp_path.glob("results/*/run.jsonl")
    ):
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    said, _ = process.communicate(timeout=30)
    assert time.monotonic() - began < 10
    assert "measured" not in said
    eventually(lambda: not workers_in(tmp_path), "gone")
    (file,) = tmp_path.glob("results/*/run.jsonl")
    events = [json.loads(line) for line in file.read_text().splitlines()]
    assert said.strip() == "Interrupted"
    assert events[-1]["status"] == "interrupted"


def test_a_main_thread_that_has_ended_is_said(script):
    process = script("""
        def later():
            time.sleep(1)
            measure()
        threading.Thread(target=later).start()
    """)
    said, errors = process.communicate(timeout=60)
    assert said == "MbenchError\n"
    assert "the main thread has ended: let it wait for this one" in errors
