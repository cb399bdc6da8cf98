"""The digest that closes a run's file: which changes it reveals, and which files have none."""

from __future__ import annotations

import pytest

from mbench.results.run import load_run
from mbench.results.runfile import RunFile
from mbench.results.seal import examine_file
from mbench.results.store import RunWriter

QUICK = {"tiny": [[1.0, 1.1], [1.0, 1.0], [1.1, 1.0]]}


@pytest.fixture
def file(write_run):
    return write_run(seconds=QUICK) / "run.jsonl"


def test_a_file_as_it_was_written_is_whole(file):
    found = examine_file(file)
    assert found.reason == ""
    assert found.lines == len(file.read_bytes().splitlines())


@pytest.mark.parametrize("status", ["complete", "interrupted"])
def test_a_run_that_ended_is_closed_however_it_ended(write_run, status):
    assert examine_file(write_run(seconds=QUICK, status=status) / "run.jsonl").sealed


def test_a_run_that_was_killed_is_not_closed(write_run):
    found = examine_file(write_run(seconds=QUICK, status=None) / "run.jsonl")
    assert "not measured to its end" in found.reason


def edit(lines):
    lines[2] = lines[2].replace(b"tiny", b"tinY", 1)


def end_edited(lines):
    lines[-1] = lines[-1].replace(b"complete", b"interrupted")


def reordered(lines):
    lines[-3], lines[-2] = lines[-2], lines[-3]


def removed(lines):
    del lines[-4]


def repeated(lines):
    lines.insert(-1, lines[-2])


def longer(lines):
    lines[-2] = lines[-2][:-1] + b" \n"


@pytest.mark.parametrize("change", [edit, end_edited, reordered, removed, repeated, longer])
def test_a_change_is_found(file, change):
    lines = file.read_bytes().splitlines(keepends=True)
    change(lines)
    file.write_bytes(b"".join(lines))
    assert f"the digest in line {len(lines)} does not match" in examine_file(file).reason


@pytest.mark.parametrize("count", [1, 4])
def test_a_file_that_was_cut_or_continued_by_hand_is_not_closed(file, count):
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-count]))
    assert not examine_file(file).sealed
    file.write_bytes(b"".join(lines + lines[-1 - count : -1]))
    assert not examine_file(file).sealed


def test_a_continued_run_is_closed_again_and_a_change_before_it_is_found(file):
    run = load_run(file)
    store = RunWriter.reopen(
        RunFile(file), run, arguments=["mbench"], protocol=run.protocol, source="code"
    )
    store.end("complete")
    assert examine_file(file).reason == ""
    first = next(at for at, line in enumerate(file.read_bytes().splitlines(), start=1)
                 if b'"event":"end"' in line)  # fmt: skip
    file.write_bytes(file.read_bytes().replace(b'"cpu":"made-up"', b'"cpu":"faster!"', 1))
    assert f"the digest in line {first} does not match" in examine_file(file).reason


@pytest.mark.parametrize("digest", ["0" * 64, "", "x"])
def test_an_end_with_another_digest_closes_nothing(file, digest):
    *before, end = file.read_bytes().splitlines(keepends=True)
    known = end.partition(b'"digest":"')[2][:64]
    file.write_bytes(b"".join(before) + end.replace(known, digest.encode()))
    assert examine_file(file).reason
