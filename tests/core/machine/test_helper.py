"""Helper programs: whatever they do, they end in time, with their children and bounded output."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from subprocess import STDOUT

import pytest

from mbench.machine import helper
from mbench.machine.helper import NoAnswer, ask, lines_of, started

CHILD = f"subprocess.Popen([{sys.executable!r}, '-c', 'import time; time.sleep(600)'])"
BEGIN = """import os, signal, subprocess, sys, time
for name in ("SIGTERM", "SIGINT", "SIGHUP"):
    signal.signal(getattr(signal, name), signal.SIG_IGN)
"""


def program(code):
    return [sys.executable, "-c", BEGIN + code]


def living(mark):
    """All processes, except zombies, whose environment contains `mark`."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            marked = mark.encode() in (folder / "environ").read_bytes()
            zombie = "\nState:\tZ" in (folder / "status").read_text()
        except OSError:
            continue
        if marked and not zombie:
            found.add(int(folder.name))
    return found


@pytest.fixture(autouse=True)
def nothing_left(monkeypatch):
    mark = os.urandom(16).hex()
    monkeypatch.setenv("MARK_OF_TEST", mark)
    yield
    deadline = time.monotonic() + 60
    while living(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert living(mark) == set()


def test_both_streams_and_the_code():
    answer = ask(program("print('out'); print('err', file=sys.stderr); sys.exit(3)"), seconds=60)
    assert (answer.code, answer.output, answer.errors) == (3, "out\n", "err\n")
    assert answer.failure.endswith(" exited with code 3: err")


def test_one_that_succeeds_has_no_failure():
    assert ask(program("print('well', file=sys.stderr)"), seconds=60).failure == ""


def test_variables_and_files_are_passed_on(tmp_path):
    with (tmp_path / "file").open("w+") as file:
        code = f"print(os.environ['WORD']); os.write({file.fileno()}, b'here')"
        assert ask(
            program(code), seconds=60, variables={"WORD": "said"}, descriptors=[file.fileno()]
        ).output == "said\n"  # fmt: skip
    assert (tmp_path / "file").read_text() == "here"


@pytest.mark.parametrize(
    "code",
    [
        "time.sleep(600)",
        f"{CHILD}; time.sleep(600)",
        "os.close(1); os.close(2); time.sleep(600)",
        "os.setsid() if os.getpid() != os.getsid(0) else None; time.sleep(600)",
        f"os.fork() or os.setsid(); {CHILD}; time.sleep(600)",
        "os.kill(os.getpid(), signal.SIGSTOP)",
        "while True: print('x', flush=True); time.sleep(0.001)",
    ],
)
def test_whoever_hangs_is_ended_in_time(code):
    with pytest.raises(NoAnswer, match=r"no answer from python\S* within 1 s") as end:
        ask(program(code), seconds=1)
    assert end.value.outcome == "timeout"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_flood_is_bounded(stream, monkeypatch):
    monkeypatch.setattr(helper, "MOST_BYTES", 2**20)
    with pytest.raises(NoAnswer, match="printed more than 1 MiB") as end:
        ask(program(f"while True: sys.{stream}.write('x' * 65536)"), seconds=60)
    assert end.value.outcome == "failed"


def test_a_child_that_holds_the_streams_is_not_waited_for():
    """A launcher that starts a daemon leaves such a child."""
    assert ask(program(f"{CHILD}; print('done')"), seconds=60).output == "done\n"


def test_a_child_that_cleared_its_environment_is_in_the_group():
    gone = f"subprocess.Popen(['sleep', '612'], env={{'PATH': {os.environ['PATH']!r}}})"
    pid = int(ask(program(f"print({gone}.pid)"), seconds=60).output)
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}/cmdline").exists() and time.monotonic() < deadline:
        if not Path(f"/proc/{pid}/cmdline").read_bytes():
            break  # a zombie
        time.sleep(0.01)
    else:
        assert not Path(f"/proc/{pid}").exists()


def test_garbage_is_text_whatever_it_is():
    answer = ask(program(r"os.write(1, b'\xff\x00\x1b[2J'); os.write(2, b'\x80')"), seconds=60)
    assert answer.output == "\ufffd\0\x1b[2J"
    assert answer.errors == "\ufffd"


@pytest.mark.parametrize("what", ["missing", "folder", "text", "loop"])
def test_what_does_not_start_says_why(what, tmp_path):
    path = tmp_path / "program"
    if what == "folder":
        path.mkdir()
    elif what == "text":
        path.write_text("#!/nowhere\n")
        path.chmod(0o755)
    elif what == "loop":
        path.symlink_to(path)
    with pytest.raises(NoAnswer, match=rf"^{path} does not start: [A-Z]"):
        ask([str(path)], seconds=60)


def test_one_that_is_killed_says_so():
    answer = ask(program("os.kill(os.getpid(), signal.SIGKILL)"), seconds=60)
    assert "was killed by SIGKILL" in answer.failure


def test_last_words_are_short():
    answer = ask(program("sys.exit('word ' * 1000)"), seconds=60)
    assert len(answer.failure) < 400


def test_an_error_meanwhile_ends_it_too():
    with pytest.raises(KeyboardInterrupt), started(program(f"{CHILD}; time.sleep(600)")):
        raise KeyboardInterrupt


def test_lines_come_while_it_runs():
    code = "print('one', flush=True); sys.stderr.write('two'); time.sleep(600)"
    with started(program(code), errors=STDOUT) as process:
        found = lines_of(process)
        assert next(found) == "one\n"


def test_lines_of_one_that_ends_and_leaves_a_child_that_prints():
    child = f"subprocess.Popen([{sys.executable!r}, '-c', 'while True: print(1)'])"
    with started(program(f"print('one', flush=True); {child}; time.sleep(0.2)")) as process:
        found = list(lines_of(process))
    assert found[0] == "one\n"
    assert set(found[1:-1]) <= {"1\n"}


def test_a_line_without_an_end_comes_in_parts():
    code = "print('x' * 1_000_000, end='')"
    with started(program(code)) as process:
        found = list(lines_of(process))
    assert "".join(found) == "x" * 1_000_000
    assert max(map(len, found)) <= 2 * helper.PIPE_BYTES


def test_letters_are_whole_wherever_the_pipe_cuts():
    with started(program("print('ä€😀' * 50_000)")) as process:
        assert "".join(lines_of(process)) == "ä€😀" * 50_000 + "\n"
