"""Where people run mbench: long paths, files of other systems, no terminal, no home."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from surroundings import QUICK, one_line

SUITE = 'frameworks = ["tiny"]\n[[sweep]]\nmodels = ["tiny-model"]\n'
LOCALES = ("de_DE.UTF-8", "tr_TR.UTF-8", "fa_IR.UTF-8", "C")


@pytest.fixture
def run(around):
    """The text of a run that was measured here."""
    done = around.mbench("run", "tiny", *QUICK, "--quiet")
    assert done.code == 0, done.err
    return (done.run / "run.jsonl").read_text()


@pytest.mark.parametrize(
    "name", ["ä b/ü", "x" * 200, "a'b\"c;d"], ids=["umlauts", "long", "quotes"]
)
def test_paths_may_have_any_name(around, name):
    folder = around.folder / name
    done = around.mbench("run", "tiny", *QUICK, "--results", str(folder), TMPDIR=str(around.folder))
    assert done.code == 0, done.err
    assert list(folder.glob("*/run.jsonl"))


def test_neither_terminal_nor_variables_are_needed(around):
    """Cron, systemd and nohup run commands without them."""
    kept = {"FAULTS": around.mark, "PYTHONPATH": str(around.site), "PATH": os.environ["PATH"]}
    words = [sys.executable, "-m", "mbench", "run", "tiny", *QUICK]
    done = subprocess.run(
        ["bash", "-c", '"$@" <&-', "-", *words], env=kept, cwd=around.folder,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize("locale", LOCALES)
def test_figures_are_written_the_same_in_all_languages(around, run, locale):
    del run
    shown = [
        around.mbench("show", "--format", "csv", LC_ALL=name, LANG=name).out
        for name in ("C.UTF-8", locale)
    ]
    assert shown[0] == shown[1]
    assert shown[0].isascii()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (SUITE.replace("\n", "\r\n").encode(), "1 comparison, 1 case"),
        (SUITE.replace(" = ", "\t=\t").encode(), "1 comparison, 1 case"),
        (b"\xef\xbb\xbf" + SUITE.encode(), "1 comparison, 1 case"),
        ("# Größe\n".encode("cp1252") + SUITE.encode(), "line 1: byte 0xf6 is not UTF-8"),
    ],
    ids=["CRLF", "tabs", "BOM", "cp1252"],
)
def test_suites_of_other_systems_are_read_or_refused_in_one_line(around, content, said):
    """Row 24 of the table of faults, see test_table.py."""
    file = around.folder / "suite.toml"
    file.write_bytes(content)
    done = around.mbench("run", str(file), "--dry-run")
    assert said in done.out + done.err
    assert done.code == 0 or one_line(done.err)


def test_row_24_a_byte_order_mark_before_defaults_is_no_part_of_them(mbench, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mbench.toml").write_bytes(b"\xef\xbb\xbfseed = 3\n")
    code, _, err = mbench("list", "launchers")
    assert (code, err) == (0, "")
    (tmp_path / "mbench.toml").write_bytes(b"\xef\xbb\xbfrouns = 3\n")
    code, _, err = mbench("compare", "tiny", "tiny")
    assert (code, one_line(err), "line 1, rouns: unknown key" in err) == (2, True, True), err


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e400", "null", '"2"'])
def test_a_number_of_a_run_that_is_none_is_refused(around, run, number):
    head, _, rest = run.partition('"memory_bytes":')
    file = around.folder / "changed.jsonl"
    file.write_text(f'{head}"memory_bytes":{number},{rest.partition(",")[2]}')
    done = around.mbench("show", str(file))
    assert done.code == 1
    assert one_line(done.err)
    assert "changed.jsonl" in done.err


def test_the_last_of_two_values_of_one_key_counts(around, run):
    file = around.folder / "twice.jsonl"
    file.write_text(run.replace('"hostname":', '"hostname":"another","hostname":', 1))
    assert around.mbench("show", str(file), "--format", "csv").code == 0


def test_results_of_another_tool_are_no_run(around):
    file = around.folder / "results-summary.jsonl"
    file.write_text('{"node":"a","kernel-launch/event_time:0":0.005}\n')
    done = around.mbench("show", str(file))
    assert done.code == 1
    assert one_line(done.err)
    assert "is not a run of mbench" in done.err


def test_conda_s_base_is_no_obstacle_and_is_not_asked(around):
    base = around.folder / "conda"
    base.mkdir()
    variables = {"CONDA_PREFIX": str(base), "CONDA_DEFAULT_ENV": "base", "CONDA_SHLVL": "1"}
    done = around.mbench("run", "tiny", *QUICK, **variables)
    assert done.code == 0, done.err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a command as another user")
def test_a_home_and_a_folder_that_cannot_be_written(around):
    """Another user cannot write to root's folder of results: one line, and nothing is measured."""
    around.folder.chmod(0o755)
    words = [sys.executable, "-m", "mbench", "run", "tiny", *QUICK]
    done = subprocess.run(
        ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", *words],
        env={**around.variables, "HOME": "/nonexistent"}, cwd=around.folder,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "mbench:" not in done.stderr and ("Permission denied" in done.stderr
                                         or "No module named mbench" in done.stderr):  # fmt: skip
        pytest.skip("no other user can read this Python's packages")
    assert done.returncode == 1
    assert "--results or MBENCH_RESULTS" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
