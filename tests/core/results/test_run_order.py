"""The order of runs, which a wrong clock does not change."""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta, timezone

import pytest

from mbench.results import folder
from mbench.results.folder import EVENTS_FILE, find_runs, is_ahead
from mbench.results.run import pick_run

OLD, NEW = "20250101-000000-aaaa", "20250601-000000-bbbb"
FUTURE = "20990101-000000-ffff"
EPOCH = "19700101-000007-0000"


@pytest.fixture
def made(tmp_path):
    """A function that writes runs, each given by its name and that of the run before; returns the
    names of all runs in order.
    """

    def make(**runs):
        for name, after in runs.items():
            place = tmp_path / name.strip("_")
            place.mkdir()
            told = "null" if after is None else f'"{after}"'
            line = f'{{"event":"run","schema":1,"id":"{name.strip("_")}","after":{told}}}\n'
            (place / EVENTS_FILE).write_text(line)
        return [run.name for run in find_runs(tmp_path)]

    return lambda *pairs: make(**{f"_{name}": after for name, after in pairs})


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([(NEW, OLD), (OLD, None)], [OLD, NEW]),
        ([(NEW, None), (OLD, None)], [OLD, NEW]),
        ([(FUTURE, OLD), (OLD, None), (NEW, FUTURE)], [OLD, FUTURE, NEW]),
        ([(NEW, OLD), (OLD, None), (EPOCH, NEW)], [OLD, NEW, EPOCH]),
        ([(FUTURE, None), (OLD, FUTURE), (NEW, OLD)], [FUTURE, OLD, NEW]),
        ([(NEW, "20240101-000000-gone"), (OLD, None)], [OLD, NEW]),
        ([(OLD, NEW), (NEW, OLD)], [NEW, OLD]),
        ([(OLD, OLD)], [OLD]),
    ],
    ids=["by the clock", "nothing told", "after the future", "a clock that was reset",
         "all after the future", "the one before is gone", "a circle", "itself"],
)  # fmt: skip
def test_a_run_comes_after_the_one_that_was_the_latest_when_it_began(made, runs, expected):
    assert made(*runs) == expected


def test_files_that_cannot_be_read_lie_where_their_names_say(made, tmp_path):
    made((NEW, OLD), (OLD, None))
    (tmp_path / OLD / EVENTS_FILE).write_bytes(b"\xff\xfe")
    assert [run.name for run in find_runs(tmp_path)] == [OLD, NEW]


def test_a_folder_that_was_renamed_keeps_its_place(made, tmp_path):
    """Its own id counts, and so does what a later run calls the folder."""
    made((OLD, None), (NEW, OLD))
    (tmp_path / OLD).rename(tmp_path / "before-update")
    assert [run.name for run in find_runs(tmp_path)] == ["before-update", NEW]
    (tmp_path / NEW).rename(tmp_path / "a-new-name")
    assert [run.name for run in find_runs(tmp_path)] == ["before-update", "a-new-name"]
    assert made((EPOCH, "a-new-name")) == ["before-update", "a-new-name", EPOCH]
    assert pick_run(tmp_path, "before").name == "before-update"


def test_a_copy_of_a_run_is_beside_it(made, tmp_path):
    made((OLD, None), (NEW, OLD))
    shutil.copytree(tmp_path / OLD, tmp_path / "copy")
    assert [run.name for run in find_runs(tmp_path)] == [OLD, "copy", NEW]


def test_many_runs_are_read_once_each(made, tmp_path, monkeypatch):
    names = [f"2025{at:04}-000000-aaaa" for at in range(300)]
    before = dict(zip(names, [None, *names], strict=False))
    made(*before.items())
    reads = []
    real = folder.header
    monkeypatch.setattr(folder, "header", lambda run: reads.append(run) or real(run))
    assert [run.name for run in find_runs(tmp_path)] == names
    assert len(reads) == len(names)


def test_the_future_begins_a_day_ahead(tmp_path):
    now = datetime.now(timezone.utc)
    assert is_ahead(tmp_path / f"{now + timedelta(days=2):%Y%m%d-%H%M%S}-aaaa")
    assert not is_ahead(tmp_path / f"{now + timedelta(hours=20):%Y%m%d-%H%M%S}-aaaa")
    assert not is_ahead(tmp_path / f"{now:%Y%m%d-%H%M%S}-aaaa")
    assert not is_ahead(tmp_path / "mine")


def test_a_run_of_the_future_is_named_and_not_the_latest(made, tmp_path, capsys):
    made((FUTURE, OLD), (OLD, None), (NEW, FUTURE))
    assert pick_run(tmp_path, None).name == NEW
    said = capsys.readouterr().err
    assert said.startswith(f"mbench: {FUTURE} is dated in the future")
    assert said.count("\n") == 1
    assert pick_run(tmp_path, OLD).name == OLD
    assert not capsys.readouterr().err
