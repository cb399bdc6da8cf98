"""fio's output is read, and each of its failures becomes a DiskEnded with an outcome."""

from __future__ import annotations

import os

import pytest
from fake_fio import direction, needs_fio, told

from mbench.machine.disk import fio
from mbench.machine.disk.ended import DiskEnded
from mbench.machine.disk.fio import Flow, find, parse
from mbench.machine.disk.jobs import JOBS

READ, MIXED = JOBS["rand_read"], JOBS["rand_readwrite"]


def test_a_flow_is_what_fio_said_of_its_direction():
    assert parse(told(read=direction()), READ) == {
        "read": Flow(
            bytes=4_096_000, operations=1000, bytes_per_second=8_192_000,
            operations_per_second=2000.5,
            latency_nanoseconds={"p50": 500, "p95": 950, "p99": 990, "p99.9": 999},
        )
    }  # fmt: skip


def test_a_mixed_job_has_two_flows():
    found = parse(told(read=direction(), write=direction(iops=500.0)), MIXED)
    assert {name: flow.operations_per_second for name, flow in found.items()} == {
        "read": 2000.5, "write": 500.0
    }  # fmt: skip


def test_notes_before_the_json_are_passed_over():
    said = told(read=direction(), notes="note: both iodepth >= 1 and synchronous I/O\n")
    assert parse(said, READ)["read"].operations == 1000


@pytest.mark.parametrize(
    ("operations", "last"), [(999, "p99"), (99, "p95"), (20, "p95"), (19, "p50")]
)
def test_a_percentile_needs_an_operation_beyond_it(operations, last):
    (flow,) = parse(told(read=direction(total_ios=operations)), READ).values()
    assert list(flow.latency_nanoseconds)[-1] == last


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("", "cannot parse the output of fio"),
        ("{", "cannot parse the output of fio"),
        ('{"jobs": []}', "cannot parse the output of fio"),
        ('{"jobs": [{"error": 0}]}', "cannot parse the output of fio"),
        (told(read=direction(iops="many")), "cannot parse the output of fio"),
        (
            told(read=direction(lat_ns={"percentile": {"most": 1}})),
            "cannot parse the output of fio",
        ),
        (told(), "no operation was completed"),
        (told(read=direction(short_ios=1, drop_ios=2)), "3 operations were cut short"),
        (told(error=28, read=direction()), "error 28"),
    ],
)
def test_what_is_no_result_is_a_failure(said, reason):
    with pytest.raises(DiskEnded, match=reason) as end:
        parse(said, READ)
    assert end.value.outcome == "failed"


def test_without_fio_it_is_unsupported_and_the_mend_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DiskEnded, match="apt-get install fio") as end:
        find()
    assert end.value.outcome == "unsupported"


def run(descriptor=0):
    return find().run(READ, descriptor, size=2**20, seconds=0.1, seed=1, direct=True)


def test_its_last_words_are_the_reason(fake_fio):
    fake_fio('sys.exit("fio: engine libaio not loadable")')
    with pytest.raises(DiskEnded, match="exited with code 1: fio: engine libaio not load"):
        run()


def test_one_that_is_killed_says_so(fake_fio):
    fake_fio("os.kill(os.getpid(), 9)")
    with pytest.raises(DiskEnded, match="fio was killed by SIGKILL"):
        run()


def test_one_that_hangs_runs_out_of_time(fake_fio, monkeypatch):
    fake_fio("time.sleep(60)")
    found = find()
    monkeypatch.setattr(fio, "SPARE_SECONDS", 0.1)
    with pytest.raises(DiskEnded, match="no answer from fio within") as end:
        found.run(READ, 0, size=2**20, seconds=0.1, seed=1, direct=True)
    assert end.value.outcome == "timeout"


def test_one_that_cannot_be_started_says_so(fake_fio, tmp_path):
    fake_fio("")
    (tmp_path / "bin" / "fio").write_text("#!/nowhere/python\n")
    with pytest.raises(DiskEnded, match="does not start"):
        find()


@needs_fio
def test_the_real_one_reads_and_writes_the_file_of_a_descriptor(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(2**20))
    with path.open("r+b") as file:
        one = find().run(MIXED, file.fileno(), size=2**20, seconds=0.1, seed=1, direct=False)
    assert sorted(one.flows) == ["read", "write"]
    for flow in one.flows.values():
        assert abs(flow.bytes / 4096 - flow.operations) <= 4 * 64, "less what was under way"
        assert flow.latency_nanoseconds["p50"] > 0
    share = one.flows["read"].operations / sum(flow.operations for flow in one.flows.values())
    assert 0.6 < share < 0.95, "80 % are to be reads"
    assert path.read_bytes() != bytes(2**20), "it was written"
    assert os.listdir(tmp_path) == ["file"]
