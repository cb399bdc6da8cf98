"""Which folders of runs are nodes; what is wrong with a folder is reported in one line."""

from __future__ import annotations

import json
import shutil

import pytest
from fleets import closed

from mbench.errors import UsageError
from mbench.fleet.collect import read_fleet
from mbench.fleet.diagnose import diagnose
from mbench.fleet.nodes import Fleet


@pytest.fixture
def place(write_run, tmp_path):
    """Writes run `run` of `host` into folder `where`; returns the folder of the run."""
    made = write_run(seconds={"tiny": [[1.0, 1.1], [1.2], [1.1]]})
    lines = (made / "run.jsonl").read_text().splitlines()

    def place(where, run, *, host="vm", change=lambda header: None):
        header = json.loads(lines[0])
        header["id"], header["system"]["hostname"] = run, host
        change(header)
        folder = tmp_path / where / run
        folder.mkdir(parents=True)
        (folder / "run.jsonl").write_text(closed([header, *map(json.loads, lines[1:])]))
        return folder

    return place


def names(*places, **more):
    return [(node.name, len(node.runs)) for node in read_fleet(places, **more).nodes]


def test_each_folder_is_a_node_with_its_runs(place, tmp_path):
    place("fleet/n2", "r1")
    place("fleet/n10", "r2")
    place("fleet/n2", "r3")
    (tmp_path / "fleet/n11").mkdir()
    (tmp_path / "fleet/.cache").mkdir()
    expected = [("n2", 2), ("n10", 1), ("n11", 0)]
    assert names(tmp_path / "fleet") == expected
    folders = [tmp_path / "fleet" / name for name in ("n10", "n2")]
    assert names(*folders) == names(*reversed(folders)) == expected[:2]


def test_runs_of_several_hosts_in_one_folder_are_told_apart(place, tmp_path):
    place("all", "r1", host="a")
    place("all", "r2", host="b")
    place("all", "r3", host="a")
    assert names(tmp_path / "all") == [("a", 2), ("b", 1)]


def test_more_runs_of_a_node_may_lie_elsewhere(place, tmp_path):
    place("first/n1", "r1")
    place("first/n2", "r2")
    place("again/n1", "r3")
    assert names(tmp_path / "first", tmp_path / "again") == [("n1", 2), ("n2", 1)]


def test_a_run_by_itself_is_of_its_host(place):
    assert names(place("x", "r1", host="here")) == [("here", 1)]


def test_a_run_that_is_there_twice_is_refused(place, tmp_path):
    folder = place("fleet/n1", "r1")
    shutil.copytree(folder, tmp_path / "fleet/n2/r1")
    with pytest.raises(
        UsageError, match=r"r1 appears twice, as n1 \(in .*n1\) and as n2 \(in .*n2\)"
    ):
        read_fleet([tmp_path / "fleet"])


def test_a_name_of_two_hosts_is_refused(place, tmp_path):
    place("a/n1", "r1", host="x")
    place("b/n1", "r2", host="y")
    with pytest.raises(UsageError, match="the node 'n1' appears twice, from two hosts"):
        read_fleet([tmp_path / "a", tmp_path / "b"])


@pytest.mark.parametrize("make", ["empty", "nothing", "file"])
def test_a_place_without_runs_is_refused_in_one_line(make, tmp_path):
    place = tmp_path / "place"
    if make == "empty":
        place.mkdir()
    elif make == "file":
        place.write_text("text")
    with pytest.raises(UsageError) as error:
        read_fleet([place])
    assert "\n" not in str(error.value)
    assert str(place) in str(error.value)


def newer(header):
    header["schema"] = 99


def huge(header):
    header["system"]["memory_bytes"] = 10**400


@pytest.mark.parametrize("change", [newer, huge])
def test_one_run_that_cannot_be_read_does_not_end_the_others(place, tmp_path, change):
    place("fleet/n1", "r1")
    place("fleet/n2", "r2", change=change)
    fleet = read_fleet([tmp_path / "fleet"])
    assert [bool(node.runs[0].problem) for node in fleet.nodes] == [False, True]
    assert "\n" not in fleet.nodes[1].runs[0].problem


def cut(text):
    return text[: 2 * len(text) // 3]


def garbled(text):
    lines = text.splitlines()
    return "\n".join([*lines[:-3], "garbage", *lines[-2:]]) + "\n"


def edited(text):
    assert text.count('"steps":10') > 1
    return text.replace('"steps":10', '"steps":11', 1)


def unsealed(text):
    return text.replace('"digest":', '"other":')


@pytest.mark.parametrize(
    ("change", "said"),
    [(cut, "it is incomplete"), (garbled, "is damaged"), (edited, "changed after it was written"),
     (unsealed, "no digest")],
)  # fmt: skip
def test_a_run_that_is_not_whole_has_nothing_that_could_be_normal(place, tmp_path, change, said):
    file = place("fleet/n1", "r1") / "run.jsonl"
    place("fleet/n2", "r2")
    file.write_text(change(file.read_text()))
    broken, whole = read_fleet([tmp_path / "fleet"]).nodes
    assert said in broken.runs[0].problem
    assert not broken.runs[0].readings
    assert whole.runs[0].readings
    assert diagnose(Fleet.of([broken, whole])).named("failed") == ["n1"]
