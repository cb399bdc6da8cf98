"""The site of many runs: what it shows, what it leaves out, and that strangers' runs are data."""

from __future__ import annotations

import csv
import json
import random
import re
import shutil
from multiprocessing import forkserver, resource_tracker
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from site_runs import QUICK, SLOW, STEADY, files, left_out, page, rewrite, shown

from mbench.cli.main import group
from mbench.errors import MbenchError, UsageError
from mbench.site import build as building
from mbench.site.build import build
from mbench.site.index import LARGEST

ATOM = "{http://www.w3.org/2005/Atom}"
TITLE = "Ours"


def test_the_first_page_has_the_ratio_its_interval_proof_versions_and_day(made, site):
    made(started="2026-01-02T15:04:00+00:00", version="1.26")
    ((kind, text),) = shown(site())
    assert kind == "up"
    assert re.search(r"\b2\b.*\.\..*✓.*flaky 1\.26 .*rank 1.*2026-01-02", text)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"proofs": {}}, "equal work not checked"),
        ({"seconds": {"tiny": STEADY[:2], "flaky": QUICK[:2]}}, "no answer"),
        ({"status": None}, "no digest closes the file"),
    ],
)
def test_what_is_not_shown_is_grey_and_says_why(made, site, given, says):
    made(**given)
    ((kind, text),) = shown(site())
    assert kind == "none"
    assert says in text
    assert "rank" not in text


def test_an_edited_run_is_grey_and_in_no_history(made, site):
    folder = made()
    file = folder / "run.jsonl"
    file.write_text(file.read_text().replace("500000000", "400000000"))
    output = site()
    ((kind, text),) = shown(output)
    assert kind == "none"
    assert "changed after it was written" in text
    assert "Latest throughput" not in page(output, "models/tiny-model.html")


THREE = {"tiny": STEADY, "flaky": QUICK, "tiny==1.26": SLOW}


def test_ranks_are_given_only_where_every_two_are_told_apart(made, site):
    made(seconds=THREE)
    output = site()
    assert [re.search(r"rank (\d)", text)[1] for _, text in shown(output)] == ["1", "3"]
    assert "rank 2" in page(output), "the baseline's"
    made(seconds={**THREE, "tiny==1.26": STEADY}, started="2030-01-02T15:04:00+00:00")
    assert "rank 1" not in page(site())


def test_runs_that_contradict_each_other_have_no_rank(made, site):
    made(started="2026-01-02T15:04:00+00:00", seconds={"tiny": STEADY, "flaky": SLOW})
    made(started="2026-01-03T15:04:00+00:00")
    ((kind, text),) = shown(site())
    assert kind == "up", "the latest is shown"
    assert "runs disagree" in text
    assert "rank" not in text


def test_a_run_of_several_compilers_has_a_row_for_each(made, site):
    """The frameworks' order differs between them, which is no disagreement."""
    folder = made(compiler=("eager", "steady"))
    file = folder / "run.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    slow = {line["case"] for line in lines if line["event"] == "case"
            and (line["framework"], line["axes"]["compiler"]) == ("flaky", "steady")}  # fmt: skip
    assert len(slow) == 1
    for line in lines:
        if line["event"] == "block" and line["case"] in slow:
            line["nanoseconds"] = [4 * value for value in line["nanoseconds"]]
    file.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    rewrite(folder, {})
    output = site()
    said = dict(shown(output))
    assert set(said) == {"up", "down"}
    assert "eager" in said["up"]
    assert "steady" in said["down"]
    assert "rank 1" in said["up"]
    assert "rank 2" in said["down"]
    assert "disagree" not in page(output)
    words = re.findall(r"</a> train<small>(.*?)</small>", page(output))
    assert [one.rpartition(", ")[2] for one in words] == ["eager", "steady"]
    assert "eager" not in page(site(made(), output="alone"))


def test_the_same_on_other_machines_is_counted(made, site):
    for host in ("one", "two", "three"):
        made(system={"hostname": host})
    found = shown(site())
    assert len(found) == 3
    assert all("same on 3 machines" in text for _, text in found)


def test_every_page_and_link_of_the_site_is_there(made, site):
    made()
    made(system={"hostname": "other"}, mode=("train", "inference"))
    output = site()
    for path in output.rglob("*.html"):
        for place in re.findall(r'(?:href|src)="([^"#:]+)(?:#[^"]*)?"', path.read_text()):
            assert (path.parent / place).is_file(), f"{path}: {place}"
    assert {path.parent.name for path in output.rglob("*.html")} == {
        "site", "models", "frameworks", "machines", "runs",
    }  # fmt: skip
    raw = {path.read_bytes() for path in (output / "raw").iterdir()}
    assert raw == {path.read_bytes() for path in (output.parent / "results").rglob("run.jsonl")}


def test_steps_are_found_and_an_outlier_is_none(made, site):
    levels = [1.0, 1.0, 3.0, 1.0, 2.0, 2.0, 2.0]
    for day, level in enumerate(levels, start=1):
        seconds = {"tiny": [[level * value for value in process] for process in STEADY]}
        made(seconds=seconds, started=f"2026-01-0{day}T15:04:00+00:00", version=f"1.{day}")
    output = site()
    (step,) = json.loads(page(output, "results.json"))["steps"]
    assert (step["started"][:10], step["version_before"], step["version"]) == (
        "2026-01-05", "1.4", "1.5",
    )  # fmt: skip
    assert step["ratio"] == pytest.approx(0.5)
    assert "0.5 times as fast from 2026-01-05 on" in page(output)
    assert "Step found" in page(output, "feed.atom")
    assert page(output, "models/tiny-model.html").count("0.5 times as fast") == 2


def test_csv_and_json_have_everything(made, site):
    folder = made()
    made(proofs={})
    output = site()
    rows = list(csv.DictReader(page(output, "results.csv").splitlines()))
    assert len(rows) == 4
    assert {"run", "host", "raw", "command", "samples_per_second", "verdict"} <= set(rows[0])
    ratios = list(csv.DictReader(page(output, "ratios.csv").splitlines()))
    assert sorted(row["not_shown"] for row in ratios) == ["", "equal work not checked"]
    assert {(row["baseline_compiler"], row["framework_compiler"]) for row in ratios} == {
        ("eager", "eager")
    }
    document = json.loads(page(output, "results.json"))
    assert [len(document[name]) for name in ("cases", "ratios")] == [4, 2]
    assert any(row["run"] == folder.name for row in document["cases"])


def test_a_table_without_rows_still_names_its_columns(made, site, tmp_path):
    made()
    full = page(site(), "ratios.csv").splitlines()[0]
    (tmp_path / "results").rename(tmp_path / "before")
    made(seconds={"tiny": STEADY})
    assert page(site(output="alone"), "ratios.csv") == f"{full}\n"


def test_the_feed_is_well_formed(made, site, tmp_path):
    made(changed={"made-up": "a<b>&\"'"})
    site()
    feed = ElementTree.parse(tmp_path / "site" / "feed.atom").getroot()
    (entry,) = feed.findall(f"{ATOM}entry")
    assert "Flaky" in entry.findtext(f"{ATOM}title")
    build([tmp_path / "results"], tmp_path / "site", title=TITLE, url="https://example.org/x/")
    link = (
        ElementTree.parse(tmp_path / "site" / "feed.atom").getroot().find(f"{ATOM}entry/{ATOM}link")
    )
    assert link.get("href").startswith("https://example.org/x/runs/")


def test_the_order_of_runs_and_the_place_change_nothing(made, site, tmp_path):
    folders = [made(started=f"2026-01-0{day}T15:04:00+00:00", version=f"1.{day}",
                    system={"hostname": f"host{day % 2}"}) for day in range(1, 6)]  # fmt: skip
    one = files(site(*folders))
    random.Random(1).shuffle(folders)
    assert files(site(*folders, *folders[:2], output="other")) == one


def test_a_later_step_leaves_the_names_of_earlier_ones_in_the_feed(made, site):
    """A feed reader shows an entry with a new name as a new entry."""

    def names():
        feed = ElementTree.parse(site() / "feed.atom").getroot()
        entries = [(one.findtext(f"{ATOM}title"), one.findtext(f"{ATOM}id"))
                   for one in feed.findall(f"{ATOM}entry")]  # fmt: skip
        return [name for title, name in entries if title.startswith("Step found")]

    def day(number, level):
        made(seconds={name: [[level * value for value in process] for process in STEADY]
                      for name in ("tiny", "flaky")},
             started=f"2026-01-0{number}T15:04:00+00:00")  # fmt: skip

    for number, level in enumerate([1.0, 1.0, 2.0, 2.0], start=1):
        day(number, level)
    first = names()
    assert len(set(first)) == 2, "one for each framework"
    for number, level in enumerate([4.0, 4.0], start=5):
        day(number, level)
    later = names()
    assert len(set(later)) == 4
    assert set(first) <= set(later)


def test_a_run_that_is_there_twice_is_counted_once(made, site, tmp_path):
    folder = made()
    shutil.copytree(folder, tmp_path / "results" / "copy")
    beginning = tmp_path / "results" / "before"
    beginning.mkdir()
    lines = (folder / "run.jsonl").read_bytes().splitlines(keepends=True)
    (beginning / "run.jsonl").write_bytes(b"".join(lines[:8]))
    output = site()
    assert "1 run on 1 machine" in page(output)
    assert left_out(output) == []


def test_two_files_that_claim_one_name_are_two_runs(made, site, tmp_path):
    folder = made()
    other = tmp_path / "results" / "other"
    shutil.copytree(folder, other)
    rewrite(other, {"made-up": "elsewhere"})
    assert "2 runs on 2 machines" in page(site())


def test_the_first_page_stays_below_a_megabyte(made, site, monkeypatch):
    assert LARGEST < 1e6
    for number in range(8):
        made(system={"hostname": f"host{number}"}, started=f"2026-01-0{number + 1}T15:04:00+00:00")
    size = len(page(site()))
    monkeypatch.setattr("mbench.site.index.LARGEST", size - 2000)
    output = site()
    assert len(page(output)) <= size - 2000
    assert re.search(r"\d rows with older results are on the models' pages", page(output))
    assert 'data-machine="host7"' in page(output)
    assert 'data-machine="host0"' not in page(output)
    assert "host0" in page(output, "models/tiny-model.html")


def test_pages_of_runs_that_did_not_change_are_not_rendered_again(made, site, tmp_path):
    made()
    first = files(site())
    again = build([tmp_path / "results"], tmp_path / "site", title=TITLE)
    assert again.kept == 1
    assert files(tmp_path / "site") == first
    target = next((tmp_path / "site" / "runs").iterdir())
    target.write_text("changed by hand")
    assert build([tmp_path / "results"], tmp_path / "site", title=TITLE).kept == 0
    assert files(tmp_path / "site") == first


@pytest.mark.parametrize("name", ["notes.txt", "site.json", "index.html"])
def test_a_folder_of_something_else_is_left_alone(made, tmp_path, name):
    made()
    other = tmp_path / "other"
    other.mkdir()
    (other / name).write_text("[]")
    with pytest.raises(UsageError, match="not part of an mbench site"):
        build([tmp_path / "results"], other, title=TITLE)
    assert files(other) == {name: b"[]"}


def test_a_site_that_cannot_be_built_leaves_the_old_one(made, site, tmp_path, monkeypatch):
    made()
    before = files(site())

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(building, "index_page", full)
    with pytest.raises(MbenchError, match="cannot write the site: No space left"):
        site()
    assert files(tmp_path / "site") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results", "site"]


def test_many_runs_are_the_same_by_several_processes(made, site, tmp_path, monkeypatch):
    for day in range(1, 4):
        made(started=f"2026-01-0{day}T15:04:00+00:00")
    one = files(site())
    monkeypatch.setattr(building, "MANY", 2)
    monkeypatch.setattr(building.os, "sched_getaffinity", lambda _: {0, 1})
    try:
        assert files(site(output="other")) == one
    finally:  # elsewhere, these processes end with the command
        forkserver._forkserver._stop()
        resource_tracker._resource_tracker._stop()


def test_nothing_to_show_is_an_error(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(UsageError, match=r"no run in .*empty"):
        build([empty], tmp_path / "site", title=TITLE)
    with pytest.raises(UsageError, match="does not exist"):
        build([tmp_path / "none"], tmp_path / "site", title=TITLE)
    (empty / "run.jsonl").write_text("{}")
    with pytest.raises(MbenchError, match=r"no run can be shown: .*is not a run"):
        build([empty], tmp_path / "site", title=TITLE)
    assert not (tmp_path / "site").exists()


def test_the_command_says_what_it_left_out(made, tmp_path):
    made()
    (tmp_path / "bad.jsonl").write_text("{}")
    done = CliRunner().invoke(
        group, ["site", str(tmp_path / "results"), str(tmp_path / "bad.jsonl"), "--output",
                  str(tmp_path / "site")],
    )  # fmt: skip
    assert done.exit_code == 0
    assert "left out: bad.jsonl is not a run of mbench" in done.stderr
    assert re.search(r"wrote .*site/index.html: 1 run$", done.stderr.strip())
    wrong = CliRunner().invoke(
        group, ["site", str(tmp_path / "results"), "--output", "x", "--url", "javascript:alert(1)"]
    )
    assert isinstance(wrong.exception, UsageError)


def test_a_baseline_of_another_version_is_named(made, site):
    three = {"tiny": STEADY, "flaky": QUICK, "tiny==1.26": SLOW}
    made(seconds=three, version="1.26", started="2026-01-02T15:04:00+00:00")
    made(version="1.27", started="2026-01-03T15:04:00+00:00")
    texts = [text for _, text in shown(site())]
    assert "flaky 1.27 " in texts[0]
    assert "1.26 against 1.26" in texts[1]
    assert "rank" not in "".join(texts), "they are of two runs"


def test_a_run_that_other_pages_cannot_show_is_left_out_alone(made, site, monkeypatch):
    made()
    made(system={"hostname": "evil"})
    whole = building.as_json

    def as_json(title, runs, *rest):
        if any(run.machine.host == "evil" for run in runs):
            raise ValueError("Out of range float values are not JSON compliant: inf")
        return whole(title, runs, *rest)

    monkeypatch.setattr(building, "as_json", as_json)
    output = site()
    (one,) = left_out(output)
    assert "cannot be shown (ValueError" in one["reason"]
    assert len(list((output / "runs").iterdir())) == len(list((output / "raw").iterdir())) == 1
