"""`mbench show` and `mbench list runs`, for runs that are complete, cut off or unreadable."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_show_renders_a_run_measured_before(command, write_run):
    folder = write_run(seconds={"tiny": [[1.0]], "flaky": [[2.0]]})
    code, out, err = command("show", folder.name[:13], "--format", "csv")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].startswith("label,framework,")
    code, out, _ = command("list", "runs")
    assert folder.name in out
    assert "complete" in out


def test_runs_of_many_comparisons_name_two(command, write_run):
    write_run(seconds={"tiny": [[1.0]]}, batch_size=(8, 16, 32, 64))
    (row,) = (line for line in command("list", "runs")[1].splitlines() if " tiny " in line)
    assert row.endswith("tiny-model train, batch 8, fp32; tiny-model train, batch 16, fp32; 2 more")


def test_runs_without_a_round_are_counted_and_not_shown(command, write_run):
    good = write_run(seconds={"tiny": [[1.0]]})
    empty = write_run(seconds={"tiny": []}, status="interrupted")
    code, out, err = command("list", "runs")
    assert (code, good.name in out, empty.name in out) == (0, True, False)
    assert "left out: 1 run without a measured round" in out + err


def test_show_says_that_a_run_is_cut_off(command, write_run):
    folder = write_run(seconds={"tiny": [[1.0]]})
    path = folder / "run.jsonl"
    path.write_text(path.read_text()[:-5])
    code, out, err = command("show")
    assert code == 0
    assert "is cut off; showing the complete part" in err
    assert "tiny" in out


def test_a_run_that_is_none_is_one_line_and_exit_code_one(command, write_run):
    folder = write_run(seconds={"tiny": [[1.0]]})
    (folder / "run.jsonl").write_text("PK\x03\x04")
    code, out, err = command("show")
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    code, out, _ = command("list", "runs")
    assert code == 0
    assert "unreadable" in out


def test_reports_go_to_a_file_when_asked(command, write_run, tmp_path):
    write_run(seconds={"tiny": [[1.0]]})
    report = tmp_path / "report.md"
    code, out, _ = command("show", "--format", "markdown", "--output", str(report))
    assert (code, out) == (0, "")
    assert report.read_text().startswith("**Tiny")


def test_a_reader_that_leaves_is_no_error_of_ours(write_run):

    write_run(seconds={"tiny": [[1.0]]})
    script = f"{sys.executable} -m mbench show --format json | head -c 1"
    done = subprocess.run(
        ["/bin/sh", "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert "Traceback" not in done.stderr
    assert Path(os.environ["MBENCH_RESULTS"]).is_dir()
