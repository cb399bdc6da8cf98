"""Rounds, the figures computed from them, and the remarks on figures that are not a disk's."""

from __future__ import annotations

import pytest
from fake_fio import direction, told

from mbench.machine.disk import measure as module
from mbench.machine.disk.fio import Flow, Round
from mbench.machine.disk.measure import figures, from_storage, measure, remarks
from mbench.machine.disk.test_file import Mount

DISK = Mount(point="/", kind="ext4", device="/dev/sda")


def one(rate, *, fetched=4096, **waits):
    flow = Flow(bytes=4096, operations=1, bytes_per_second=rate, operations_per_second=rate / 4096,
                latency_nanoseconds=waits)  # fmt: skip
    return Round(flows={"read": flow}, storage_read_bytes=fetched)


def run(folder, jobs=("seq_read", "rand_read"), rounds=3, report=lambda _: None):
    return measure(
        folder, jobs, size=2**20, seconds=0.1, rounds=rounds, direct=False, report=report
    )


def test_a_figure_is_the_centre_over_rounds_with_its_interval():
    found = figures([one(100, p50=10), one(110, p50=11), one(90, p50=12)], "read")
    rate = found.bytes_per_second
    assert rate.low < 90 < rate.value < 110 < rate.high
    assert rate.replicates == 3
    assert found.latency_nanoseconds["p50"].value == pytest.approx(1320 ** (1 / 3))


def test_two_rounds_have_no_interval():
    rate = figures([one(100), one(110)], "read").bytes_per_second
    assert (rate.low, rate.high) == (None, None)


def test_a_percentile_counts_in_those_rounds_that_support_it():
    waits = figures([one(100, p99=5), one(100)], "read").latency_nanoseconds
    assert list(waits) == ["p99"]
    assert waits["p99"].replicates == 1


def test_jobs_take_turns_within_a_round(tmp_path, fake_fio):
    log = tmp_path / "log"
    fake_fio(
        f"name = [word for word in sys.argv if word.startswith('--name=')][0][7:]\n"
        f"open({str(log)!r}, 'a').write(name + '\\n')\nprint({told(read=direction())!r})"
    )
    summary = run(tmp_path, rounds=6)
    names = log.read_text().split()
    turns = list(zip(names[::2], names[1::2], strict=True))
    assert all(sorted(turn) == ["rand_read", "seq_read"] for turn in turns)
    assert len(set(turns)) == 2, "no job is always the first"
    assert [len(job.rounds) for job in summary.jobs] == [6, 6]
    assert summary.status == "complete"
    assert summary.tool == "fio-9"


def test_a_job_that_fails_is_over_and_the_others_go_on(tmp_path, fake_fio):
    fake_fio(
        f"if '--name=rand_read' in sys.argv: sys.exit('broken')\nprint({told(read=direction())!r})"
    )
    seen = []
    summary = run(tmp_path, report=seen.append)
    sequential, random = summary.jobs
    assert (sequential.outcome, len(sequential.rounds)) == ("ok", 3)
    assert (random.outcome, random.rounds, random.figures) == ("failed", [], {})
    assert "broken" in random.reason
    assert sum("broken" in line for line in seen) == 1


def test_what_was_whole_is_kept_where_it_is_interrupted(tmp_path, fake_fio, monkeypatch):
    fake_fio(f"print({told(read=direction())!r})")
    rounds = []

    def report(line):
        rounds.append(line)
        if line == "round 3 of 3":
            raise KeyboardInterrupt

    summary = run(tmp_path, report=report)
    assert summary.status == "interrupted"
    assert [len(job.rounds) for job in summary.jobs] == [2, 2]


def test_nothing_is_told_where_nothing_was_whole(tmp_path, fake_fio, monkeypatch):
    fake_fio("")

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "temporary_file", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path)


def test_a_disk_that_answered_itself_has_no_remark():
    assert remarks(DISK, {"seq_read": [one(100)]}, direct=True) == []


@pytest.mark.parametrize("kind", ["tmpfs", "ramfs"])
def test_memory_is_called_memory(kind):
    (said,) = remarks(Mount(point="/m", kind=kind, device="none"), {}, direct=True)
    assert "figures of memory" in said


def test_the_page_cache_is_told():
    (said,) = remarks(None, {}, direct=False)
    assert "page cache" in said


def test_what_the_kernel_did_not_fetch_is_told_of_the_worst_round():
    found = {"seq_read": [one(100), one(100, fetched=1024)], "seq_write": []}
    assert from_storage(found) == 0.25
    (said,) = remarks(DISK, found, direct=True)
    assert "25 % of what was read came from local storage" in said


def test_the_untimed_part_is_fetched_too():
    assert from_storage({"seq_read": [one(100, fetched=9999)]}) == 1.0
    assert from_storage({"seq_write": []}) is None
