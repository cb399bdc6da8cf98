"""Faults that mbench once got wrong, by number: those that need a command of their own.

Each of the 42 was a real command. Docstrings and names of tests in this folder say "row 12" where
that fault is shown, so that `grep -rnw "row 12" tests/faults` finds it; test_index.py asserts that
all of them can be found so.
"""

from __future__ import annotations

import http.server
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from support.large_runs import write_large_run
from surroundings import QUICK, Surroundings, eventually, one_line
from test_environments import FRAMEWORK
from test_helpers import MPI, put

if TYPE_CHECKING:
    from collections.abc import Iterator

    from surroundings import Done

LONG = ("compare", "tiny", "flaky", *QUICK, "--rounds", "3000", "--block", "0.02")
MBENCH = f"{shlex.quote(sys.executable)} -m mbench"
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can do this")
FIO = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")


def shell(around: Surroundings, script: str, *, apart: bool = False, **variables: str) -> Done:
    """Run a script of bash in which `mbench` is this one; `apart`: with mounts of its own."""
    script = f'mbench() {{ {MBENCH} "$@"; }}\n{script}'
    own = ["unshare", "--mount", "--propagation", "private"] if apart else []
    if apart and subprocess.run([*own, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine gives no mount namespace")
    return around.finish(around.popen([*own, "bash", "-c", script], **variables))


def blocks(around: Surroundings) -> bool:
    return any('"block"' in file.read_text() for file in around.results.glob("*/run.jsonl"))


@contextmanager
def pids_limit(most: int) -> Iterator[Path]:
    """The folder of a control group that can have at most so many processes."""
    root = Path("/sys/fs/cgroup/pids")
    root = root if root.is_dir() else Path("/sys/fs/cgroup")
    group = root / f"mbench-test-{os.getpid()}"
    try:
        group.mkdir()
        (group / "pids.max").write_text(str(most))
    except OSError as error:
        with_group = group.exists() and group.rmdir()
        pytest.skip(f"no control group limits processes here: {error}{with_group or ''}")
    try:
        yield group
    finally:
        eventually(lambda: not (group / "cgroup.procs").read_text(), "empty")
        group.rmdir()


def test_row_6_a_hostile_run_of_a_thousand_cases_is_shown(around):
    """This once took minutes, cubic in the number of cases: tests/core/results/test_growth.py."""
    run = write_large_run(around.results, cases=1000)
    done = around.mbench("show", str(run))
    assert (done.code, "tiny#999" in done.out) == (0, True), done.err


STRANGERS = """
import socket, threading
host, port = os.environ["MBENCH_PARENT"].rsplit(":", 1)
crowd = []
def drip():
    while True:
        while len(crowd) < 600:
            try:
                crowd.append(socket.create_connection((host, int(port)), timeout=5))
            except OSError:
                break
        for one in list(crowd):
            try:
                one.send(b"x")
            except OSError:
                crowd.remove(one)
        time.sleep(0.3)
"""
ENGINE = """
if sys.argv[1:] == ["--version"]:
    sys.exit(print("mpirun (Open MPI) 4.1.4"))
{before}
agent = [sys.executable, "-m", "mbench.engine.agent"]
node = subprocess.Popen(agent, env={{**os.environ, "OMPI_COMM_WORLD_RANK": "0"}})
sys.exit(abs(node.wait()))
"""


def test_row_10_strangers_that_fill_the_port_keep_no_agent_out(around):
    """600 connections, each of which sends a byte at a time, begin before the agent does."""
    begin = "threading.Thread(target=drip, daemon=True).start()\ntime.sleep(2)"
    done = around.mbench(*MPI, **put(around, "mpirun", ENGINE.format(before=STRANGERS + begin)))
    assert (done.code, done.ends) == (0, {}), done.err


@ROOT
def test_row_12_an_unmounted_results_folder_ends_a_run_at_once(around):
    script = f"""
        mkdir results && mount -t tmpfs none results
        mbench {shlex.join(LONG)} & pid=$!
        until grep -qs '"block"' results/*/run.jsonl; do sleep 0.1; done
        umount -l results
        wait $pid"""
    done = shell(around, script, apart=True)
    assert done.code == 1
    last = done.err.splitlines()[-1]
    assert "run.jsonl was " in last
    assert "while it was being written, so nothing more is measured" in last
    assert "shows it" not in done.err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (": > results/*/run.jsonl", "truncated "),
        ("printf 'garbage\\n' >> results/*/run.jsonl", "--resume removes them and measures"),
        ("mv results r2; ln -s /tmp results", "was moved to "),
    ],
    ids=["row 13, emptied", "row 16, garbage added", "row 17, folder replaced"],
)
def test_what_others_do_to_the_file_of_a_run_ends_it_at_once(around, change, said):
    process = around.start(*LONG)
    eventually(lambda: blocks(around), "measuring")
    subprocess.run(["bash", "-c", change], cwd=around.folder, check=True)
    done = around.finish(process)
    assert done.code == 1
    assert said in done.err
    assert "Traceback" not in done.err
    if "garbage" in change:
        assert around.mbench("show").code == 0
    else:
        assert "shows it" not in done.err


def test_row_14_a_report_that_cannot_be_written_leaves_the_old_one(around):
    page = around.folder / "k.html"
    page.write_text("keep me")
    words = shlex.join(["compare", "tiny", "flaky", *QUICK, "--output", "k.html"])
    done = shell(around, f"ulimit -f 60; trap '' XFSZ; mbench {words}")
    assert done.code == 1
    assert "cannot write k.html: File too large" in done.err
    assert page.read_text() == "keep me"
    assert sorted(path.name for path in around.folder.glob("*k.html*")) == ["k.html"]


@contextmanager
def index(status: int) -> Iterator[str]:
    """The address of a package index that answers all with `status`; 0: nothing listens there."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    if not status:
        yield "http://127.0.0.1:9/simple"
        return
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/simple"
        server.shutdown()


ANSWERS = {
    401: "refused access (401 ",
    403: "refused access (403 ",
    404: " has no kept (404 Not Found): check its address and the name",
    500: "reported an error (500 ",
    0: "the package index could not be reached",
}


def test_row_18_an_index_that_refuses_is_named_and_no_package_is_blamed(around):
    around.install("plugin_kept", FRAMEWORK.replace("{names!r}", "('kept',)"))
    with ExitStack() as stack:
        processes = {
            status: around.start(
                "env", "create", "kept", PIP_RETRIES="0", PIP_CONFIG_FILE="/dev/null",
                PIP_EXTRA_INDEX_URL="", PIP_FIND_LINKS="", PIP_NO_INDEX="0",
                PIP_INDEX_URL=stack.enter_context(index(status)),
                MBENCH_ENVIRONMENTS=str(around.folder / f"environments-{status}"),
            )
            for status in ANSWERS
        }  # fmt: skip
        ends = {status: around.finish(process) for status, process in processes.items()}
    for status, done in ends.items():
        assert done.code == 1
        last = done.err.splitlines()[-1]
        assert ANSWERS[status] in last
        assert "No matching distribution" not in last


@ROOT
def test_row_19_a_full_disk_where_environments_are_is_one_line(around):
    around.install("plugin_kept", FRAMEWORK.replace("{names!r}", "('kept',)"))
    script = "mkdir t && mount -t tmpfs -o size=2m none t && mbench env create kept"
    done = shell(around, script, apart=True, MBENCH_ENVIRONMENTS="t/e")
    assert done.code == 1
    last = done.err.splitlines()[-1]
    assert "No space left on device" in last
    assert "MBENCH_ENVIRONMENTS" in last
    assert len(last) < 600
    assert "Traceback" not in done.err


def test_row_27_the_address_of_this_machine_is_this_machine(around):
    done = around.mbench(*MPI[:-1], "::1", **put(around, "mpirun", ENGINE.format(before="")))
    assert (done.code, done.ends) == (0, {}), done.err


@pytest.mark.parametrize(
    ("hosts", "said"),
    [("fd00::2", "'fd00::2' is an IPv6 address"), ("localhost,127.0.0.1", "localhost")],
    ids=["row 27, an address that mpirun would split", "row 28, two names of one host"],
)
def test_hosts_that_would_be_misread_are_refused(around, hosts, said):
    done = around.mbench(*MPI[:-1], hosts, "--scale", "2x1",
                         **put(around, "mpirun", ENGINE.format(before="")))  # fmt: skip
    assert done.code in (1, 2)
    assert one_line(done.err), done.err
    assert said in done.err


@pytest.mark.parametrize("most", [3, 4, 12])
@ROOT
def test_row_32_a_limit_on_processes_is_one_line_that_names_it(around, most):
    with pids_limit(most) as group:
        done = shell(around, f"echo $$ > {group}/cgroup.procs; exec {MBENCH} "
                             + shlex.join(["compare", "tiny", "flaky", *QUICK]))  # fmt: skip
    assert done.code == 1, done.err
    assert "Traceback" not in done.err
    assert "cannot start another process or thread" in done.err + str(done.ends)


def test_row_32_too_little_memory_for_mbench_itself_is_one_line(around):
    done = shell(around, f"ulimit -v 150000; mbench {shlex.join(['compare', 'tiny', 'flaky'])}")
    assert done.code == 1
    assert one_line(done.err), done.err
    assert "there is not enough memory" in done.err


def test_row_33_too_few_files_are_counted_with_the_right_number(around):
    """The message once was "1 more processes take about 140 open files"."""
    done = shell(around, f"ulimit -n 12; mbench {shlex.join(['compare', 'tiny', 'flaky', *QUICK])}")
    assert (done.code, set(done.ends)) == (1, {"tiny", "flaky"})
    for outcome, reason in done.ends.values():
        assert outcome == "failed"
        assert reason.startswith("1 process and mbench itself need about ")
        assert reason.endswith(" open files, but 12 are allowed here: raise the hard limit "
                               "(ulimit -Hn)")  # fmt: skip


@ROOT
def test_row_34_an_environments_folder_that_cannot_be_made_names_the_way_out():
    with TemporaryDirectory() as folder:  # a folder that others can enter
        around = Surroundings(Path(folder))
        around.folder.chmod(0o755)
        around.install("plugin_kept", FRAMEWORK.replace("{names!r}", "('kept',)"))
        variables = {name: value for name, value in around.variables.items()
                     if name != "MBENCH_ENVIRONMENTS"} | {"HOME": "/nonexistent"}  # fmt: skip
        done = subprocess.run(
            ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", sys.executable, "-m",
             "mbench", "env", "create", "kept"],
            env=variables, cwd=around.folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
    if "mbench:" not in done.stderr:
        pytest.skip("no other user can read this Python's packages")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "ermission denied" in last
    assert "MBENCH_ENVIRONMENTS" in last
    assert "All output" not in last, "there is no log"


@ROOT
@FIO
def test_row_35_what_is_free_and_what_is_needed_differ_in_what_is_said(around):
    """The message once was "8 MiB are free in t, and the file needs 8"."""
    script = "mkdir t && mount -t tmpfs -o size=8500k none t && mbench disk t --size 8MiB"
    done = shell(around, script, apart=True)
    assert done.code in (1, 2)
    assert one_line(done.err), done.err
    free, needed = re.findall(r"[\d.,]+ [KM]iB", done.err)[:2]
    assert free != needed


def test_row_36_a_run_of_the_future_is_not_the_latest(around):
    future = write_large_run(around.results)
    ahead = future.with_name(f"2099{future.name[4:]}")
    text = (future / "run.jsonl").read_text().replace(future.name, ahead.name)
    future.rename(ahead)
    (ahead / "run.jsonl").write_text(text)
    latest = write_large_run(around.results).name
    for words in (["show"], ["report"]):
        done = around.mbench(*words)
        assert done.code == 0, done.err
        assert f"{ahead.name} is dated in the future" in done.err
        shown = done.out if words == ["show"] else (around.folder / "report.html").read_text()
        assert latest in shown
        assert ahead.name not in shown
    assert ahead.name in around.mbench("show", ahead.name).out


def test_row_39_a_suite_of_thousands_of_sweeps_is_planned(around):
    """This once took 14 s; how the work grows is counted in tests/core/results/test_growth.py."""
    suite = around.folder / "s.toml"
    suite.write_text('frameworks = ["tiny"]\n' + '[[sweep]]\nmodels = ["tiny-model"]\n' * 5000)
    done = around.mbench("run", str(suite), "--dry-run")
    assert done.code == 0, done.err
    assert "5,000 comparisons, 5,000 cases" in done.out


@pytest.mark.parametrize(
    "variables",
    [{"MBENCH_PARENT": "127.0.0.1:x"}, {"MBENCH_TOKEN": "zz"}, {"MBENCH_NODE": "many"},
     {"MBENCH_PARENT": ""}, {"MBENCH_TOKEN": "ab" * 32, "MBENCH_PARENT": ":"}],
)  # fmt: skip
def test_row_40_torn_variables_of_an_agent_are_one_line(around, variables):
    done = around.finish(around.popen([sys.executable, "-m", "mbench.engine.agent"], **variables))
    assert done.code != 0
    assert "Traceback" not in done.err
    assert len(done.err.strip().splitlines()) == 1, done.err


def test_row_43_an_unknown_framework_is_one_short_line(around):
    """The message once listed all frameworks. Upper case is not another name, even in Turkish."""
    for locale in ("C.UTF-8", "tr_TR.UTF-8"):
        done = around.mbench("compare", "TINNY", "flaky", LC_ALL=locale)
        assert done.code == 2
        assert one_line(done.err)
        assert "did you mean tiny" in done.err
        assert len(done.err) < 300
        done = around.mbench("compare", "TINY", "flaky", *QUICK, "--dry-run", LC_ALL=locale)
        assert (done.code, "1 comparison, 2 cases" in done.out) == (0, True), done.err
