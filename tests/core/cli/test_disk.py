"""`mbench disk` from end to end: what it prints, its exit codes, and that no file is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace

import pytest
from click.testing import CliRunner
from fake_fio import direction, needs_fio, told
from workers import eventually

from mbench.cli.main import group
from mbench.errors import MbenchError, UsageError
from mbench.machine.disk.jobs import JOBS
from mbench.machine.disk.test_file import Mount, temporary_file
from mbench.machine.process_end import has_ended


@contextmanager
def in_memory(folder, *, size, direct):
    """Stands in for `temporary_file`: a test's folder may not allow bypassing the page cache."""
    with temporary_file(folder, size=size, direct=False) as descriptor:
        yield descriptor


DISK = Mount(point="/", kind="ext4", device="/dev/nvme0n1p1")
FAST = ("--size", "16MiB", "--seconds", "0.1", "--buffered")


def disk(*words):
    return CliRunner().invoke(group, ["disk", *map(str, words)])


@needs_fio
def test_the_real_fio_gives_every_job_a_row_and_leaves_nothing(tmp_path):
    output = tmp_path / "disk.json"
    place = tmp_path / "place"
    place.mkdir()
    result = disk(place, *FAST, "--rounds", "3", "--output", output)
    assert result.exit_code == 0, result.stderr
    document = json.loads(output.read_text())
    assert [job["name"] for job in document["jobs"]] == list(JOBS)
    for job in document["jobs"]:
        assert list(job["figures"]) == list(JOBS[job["name"]].directions)
        for found in job["figures"].values():
            rate = found["bytes_per_second"]
            assert 0 < rate["low"] < rate["value"] < rate["high"]
            operations = found["operations_per_second"]["value"]
            # Both are means over the same rounds.
            assert rate["value"] == pytest.approx(operations * job["block_bytes"], rel=0.5)
    assert os.listdir(place) == []
    assert result.stdout == ""


@pytest.fixture
def faked(fake_fio):
    fake_fio(f"print({told(read=direction(), write=direction(bw_bytes=3_000_000))!r})")


def test_the_table_has_a_row_for_each_direction(tmp_path, faked):
    result = disk(tmp_path, *FAST, "--jobs", "rand_read,seq_readwrite", "--rounds", "2")
    assert result.exit_code == 0
    rows = [line.split()[:3] for line in result.stdout.splitlines()[3:6]]
    assert rows == [["rand_read", "read", "8.19"], ["seq_readwrite", "read", "8.19"],
                    ["seq_readwrite", "write", "3.00"]]  # fmt: skip
    assert "page cache was not bypassed" in result.stdout
    assert "round 2 of 2" in result.stderr


def test_superbench_has_names_for_what_no_memory_did(tmp_path, faked, monkeypatch):
    for module in ("measure", "test_file"):
        monkeypatch.setattr(f"mbench.machine.disk.{module}.mount_of", lambda _: DISK)
    monkeypatch.setattr("mbench.machine.disk.measure.temporary_file", in_memory)
    given = ("--size", "16MiB", "--seconds", "0.1", "--rounds", "1", "--layout", "superbench")
    result = disk(tmp_path, *given, "--jobs", "rand_read", "--output", tmp_path / "line.jsonl")
    assert result.exit_code == 0, result.output
    line = json.loads((tmp_path / "line.jsonl").read_text())
    assert line.pop("node")
    stem = "disk-benchmark/nvme0n1p1_rand_read"
    assert {name: value for name, value in line.items() if "lat" not in name} == {
        "disk-benchmark/return_code": 0,
        f"{stem}_bs": 4096,
        f"{stem}_read_iops": pytest.approx(2000.5),
    }
    ranks = [name.rpartition("_")[2] for name in line if name.startswith(f"{stem}_read_lat_ns_")]
    assert ranks == ["95.0", "99.0", "99.9"]
    assert "rand_read_read_iops" in disk(tmp_path, *given, "--jobs", "rand_read").stdout


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_memory_has_no_names_and_is_not_measured(tmp_path, fake_fio, monkeypatch, more):
    fake_fio(f"open({str(tmp_path / 'measured')!r}, 'w')")
    memory = replace(DISK, kind="tmpfs")
    for module in ("measure", "test_file"):
        monkeypatch.setattr(f"mbench.machine.disk.{module}.mount_of", lambda _: memory)
    result = disk(tmp_path, "--size", "16MiB", "--layout", "superbench", *more)
    assert "no names for memory figures: give a folder on a disk" in str(result.exception)
    assert not (tmp_path / "measured").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--format", "jsonl"], "jsonl needs --layout superbench"),
        (["--layout", "superbench", "--buffered"], "leave out --buffered"),
    ],
)
def test_what_a_layout_cannot_write_is_refused_at_once(tmp_path, words, said):
    result = disk(tmp_path, *words)
    assert isinstance(result.exception, UsageError)
    assert said in str(result.exception)


def test_quiet_tells_nothing_on_the_way(tmp_path, faked):
    result = disk(tmp_path, *FAST, "--rounds", "1", "-q")
    assert (result.exit_code, result.stderr) == (0, "")


def test_a_job_that_failed_is_named_and_the_code_is_1(tmp_path, fake_fio):
    fake_fio("sys.exit('broken')")
    result = disk(tmp_path, *FAST, "--jobs", "seq_read")
    assert result.exit_code == 1
    assert "seq_read: failed, fio exited with code 1: broken" in result.stdout


def test_without_fio_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    result = disk(tmp_path, *FAST)
    assert isinstance(result.exception, MbenchError)
    assert (result.exception.exit_code, str(result.exception)) == (
        1, "unsupported: fio is not installed: apt-get install fio"
    )  # fmt: skip


def test_a_job_that_is_none_is_refused(tmp_path):
    result = disk(tmp_path, "--jobs", "seq_read,seq_raed")
    assert isinstance(result.exception, UsageError)
    assert "unknown job 'seq_raed'; available: seq_read" in str(result.exception)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_fio_too_and_leaves_no_file(tmp_path, fake_fio, number):
    started = tmp_path / "started"
    place = tmp_path / "place"
    place.mkdir()
    fake_fio(f"open({str(started)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)")
    command = [sys.executable, "-m", "mbench", "disk", str(place), *FAST]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        eventually(lambda: started.exists() and started.read_text() != "", "started")
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
    if number == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
    else:
        assert process.returncode == 130
        assert said.splitlines()[-1] == "mbench: interrupted"
    assert os.listdir(place) == []
    eventually(lambda: has_ended(int(started.read_text())), "ended")


def test_a_dry_run_says_how_long_it_takes_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mbench.machine.disk.measure.find", lambda: pytest.fail("fio is asked"))
    result = disk("--dry-run", "--size", "16MiB", "--jobs", "seq_read,rand_read")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == (
        "2 jobs of 5 s in 5 rounds: about 58 s, after writing a file of 16 MiB in .\n"
    )
    assert os.listdir(tmp_path) == []
