"""mbench copes with closed or full streams, and with odd locales, variables and folders."""

from __future__ import annotations

import io
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest
from surroundings import PATIENCE, one_line

from mbench import console
from mbench.cli.output import check_writable
from mbench.errors import UsageError
from mbench.measure.activity import PhaseBegan
from mbench.reports.progress.lines import LinesProgress
from mbench.results.folder import ensure_home

MBENCH = [sys.executable, "-m", "mbench"]
COMPARE = ["compare", "--frameworks", "tiny,tiny", "--models", "tiny-model", "--processes", "1",
           "--rounds", "1", "--block", "0.005", "--no-mfu", "--no-verify"]  # fmt: skip


def shell(around, line, *arguments, **variables):
    """Runs a line of the shell, in which "$@" is mbench with these arguments."""
    return subprocess.run(
        ["bash", "-c", line, "-", *MBENCH, *arguments], env={**around.variables, **variables},
        cwd=around.folder, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


def test_a_closed_stderr_hinders_no_measurement_and_gets_no_files_number(around):
    done = shell(around, '"$@" 2>&-', *COMPARE)
    assert done.returncode == 0
    assert "complete" in done.stdout
    (folder,) = around.results.glob("2*")
    assert (folder / "run.jsonl").read_text().startswith('{"event":"run"')


def test_a_closed_stderr_puts_no_message_on_stdout(around):
    done = shell(around, '"$@" 2>&- <&-', "show")
    assert (done.returncode, done.stdout) == (2, "")


def test_a_full_stdout_is_one_line(around):
    done = shell(around, '"$@" > /dev/full', "list", "frameworks")
    assert done.returncode == 1
    assert done.stderr == "mbench: No space left on device\n"


def test_a_full_or_lost_stderr_loses_words_and_nothing_else():
    with open("/dev/full", "w") as full:
        stream = console.Lenient(full)
        progress = LinesProgress(stream)
        for number in range(9):
            progress.hear(PhaseBegan("tiny", f"phase {number}" * 2000))
        stream.flush()
        console.abandon(full)
    closed = io.StringIO()
    closed.close()
    print("nothing", file=console.Lenient(closed), flush=True)


@pytest.mark.parametrize(
    "variables",
    [
        {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        {"HOME": "/proc/nope", "TERM": "dumb", "COLUMNS": "abc", "NO_COLOR": "1", "TZ": "Odd/Zone"},
        {"PYTHONOPTIMIZE": "2", "PYTHONWARNINGS": "error", "PYTHONHASHSEED": "0", "COLUMNS": "-5"},
    ],
    ids=lambda variables: next(iter(variables)),
)
def test_odd_variables_change_nothing(around, variables):
    done = shell(around, '"$@"', "list", "frameworks", **variables)
    assert (done.returncode, done.stderr) == (0, "")
    assert "tiny" in done.stdout


def test_modules_of_the_current_folder_are_not_loaded(around):
    for name in ("json", "click", "numpy", "mbench"):
        Path(around.folder, f"{name}.py").write_text("raise RuntimeError('loaded')\n")
    done = subprocess.run(
        [Path(sys.executable).with_name("mbench"), "--version"], env=around.variables,
        cwd=around.folder, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_a_user_whom_the_system_does_not_know_is_at_home(monkeypatch):
    """A container may be started under a number that the system does not know."""
    monkeypatch.setenv("HOME", "")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)
    with pytest.raises(RuntimeError):
        Path.home()
    ensure_home()
    assert Path.home() == Path("/")
    assert Path("~/.cache").expanduser().is_absolute()


def test_few_descriptors_suffice(around):
    done = shell(around, 'ulimit -n 20; "$@"', "list", "frameworks")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("count", "noun", "said"),
    [(0, "case", "0 cases"), (1, "process", "1 process"), (2000, "process", "2,000 processes")],
)
def test_one_is_not_many(count, noun, said):
    assert console.counted(count, noun) == said


def test_a_message_is_one_line_whatever_it_holds(capsys):
    console.tell("a\nb\x1b[31m\x07\x85c")
    assert capsys.readouterr().err == "mbench: a b[31m c\n"


def test_a_report_that_nobody_takes_says_where_the_run_is(around):
    done = shell(around, '"$@" > /dev/full', *COMPARE)
    (folder,) = around.results.glob("2*")
    assert done.returncode == 1
    told, why = done.stderr.splitlines()[-2:]
    assert f"what was measured is in {folder}: mbench show {folder.name} shows it" in told
    assert why == "mbench: No space left on device"


def test_an_output_that_cannot_be_written_is_refused_before_anything_is_measured(
    tmp_path, monkeypatch
):
    check_writable(tmp_path / "new.html")
    monkeypatch.setattr(os, "access", lambda place, mode: place != tmp_path)  # root may write all
    with pytest.raises(UsageError, match="permission denied"):
        check_writable(tmp_path / "new.html")


def test_a_plugin_that_is_broken_is_named_where_what_it_offers_is_missing(around):
    (around.site / "numpy.py").write_text("raise SystemExit(0)\n")
    done = around.mbench("compare", "--frameworks", "tiny,tiny", "--models", "tiny-model")
    assert done.code != 0
    assert "mbench list" in done.err
    assert one_line(done.err)
