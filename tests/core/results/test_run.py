"""Runs are read back whole, or refused in one line."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import asdict

import pytest
from support.experiments import measured_by

from mbench.engine.outcome import CaseEnded
from mbench.errors import MbenchError, UsageError
from mbench.results import events as recorded
from mbench.results.encoding import plain
from mbench.results.records import ComparisonRecord
from mbench.results.run import find_runs, load_run, pick_run
from mbench.results.summary import analyse
from mbench.spec.adaptive import Adaptive
from mbench.spec.presets import PRESETS

SECONDS = {"tiny": [[1.0, 1.1], [1.2]], "flaky": [[2.0, 2.1]]}


@pytest.fixture
def folder(write_run, proven):
    ends = {"flaky": CaseEnded("crashed", "gone")}
    return write_run(
        seconds=SECONDS, single={"tiny": [5.0]}, ends=ends, proofs={"tiny": proven.yes}
    )


def events(folder):
    return [json.loads(line) for line in (folder / "run.jsonl").read_text().splitlines()]


def put(folder, *lines):
    """Replace the lines of the run's file, each given as an event or as text."""
    text = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (folder / "run.jsonl").write_text("".join(f"{line}\n" for line in text))


def test_raw_values_survive(folder, proven):
    run = load_run(folder)
    assert (run.id, run.status, run.cut_off) == (folder.name, "complete", False)
    title = "tiny-model train, batch 8, fp32"
    assert run.comparisons == {0: ComparisonRecord(title, "all processes measured", cases={0, 1})}
    tiny, flaky = run.cases.values()
    assert (tiny.planned.label, tiny.planned.framework, tiny.outcome) == ("tiny", "tiny", None)
    assert tiny.axes.batch_size == 8
    assert tiny.equal_work == recorded.EqualWork(case=0, **vars(proven.yes))
    assert tiny.info.version == "1.2"
    at = [(b.round, b.steps, b.each, b.nanoseconds) for b in tiny.processes[0].blocks]
    assert at == [
        (0, 10, False, [1_000_000_000]),
        (0, 1, True, [5_000_000]),
        (1, 10, False, [1_100_000_000]),
    ]
    assert tiny.processes[1].peak_bytes == 2**20 * 100
    assert (flaky.outcome.outcome, flaky.outcome.reason) == ("crashed", "gone")


@pytest.mark.parametrize("kept", [1, 2, 40])
def test_a_torn_last_line_is_cut_off_and_the_rest_is_there(folder, kept):
    path = folder / "run.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    whole = load_run(folder)
    path.write_text("".join(lines[:-1]) + lines[-1][:kept])
    run = load_run(folder)
    assert run.cut_off
    assert run.status == "unfinished"
    assert run.cases == whole.cases


def test_a_run_may_be_torn_anywhere_after_its_header(folder):
    """All lines that are complete are read and summarised."""
    path = folder / "run.jsonl"
    text = path.read_text()
    header = text.index("\n") + 1
    for length in range(header, len(text), 37):
        path.write_text(text[:length])
        run = load_run(folder)
        assert run.cut_off is (text[length - 1] != "\n" and text[length] != "\n")
        json.dumps(analyse(run).to_json(), allow_nan=False)


def test_a_line_ends_at_a_line_feed_only(folder):
    """Text may contain other characters that Python takes for line ends."""
    path = folder / "run.jsonl"
    text = path.read_text().replace("all processes measured", "all \u2028 \x85 measured")
    path.write_text(text, encoding="utf-8")
    assert load_run(folder).comparisons[0].reason == "all \u2028 \x85 measured"


def test_events_of_unknown_kinds_are_passed_over(folder):
    made = events(folder)
    added = {"event": "weather", "case": 0, "rain": True}
    put(folder, *made[:-1], added, made[-1])
    assert load_run(folder).status == "complete"


def watched(**changes):
    """A telemetry event of two samples, with `changes` in the second one."""
    sample = {"at_nanoseconds": 1, "busy_seconds": 1.0, "stolen_seconds": 0.0,
              "worker_seconds": 1.0, "available_bytes": 1}  # fmt: skip
    return {"event": "telemetry", "case": 0, "process": 0, "round": 0, "each": False, "cores": 2,
            "samples": [sample, {**sample, **changes}]}  # fmt: skip


def test_samples_may_have_more_fields_than_are_known(folder):
    made = events(folder)
    added = watched(at_nanoseconds=2, fans=3, gpu={"celsius": 50, "fans": 2})
    put(folder, *made[:-1], added, made[-1])
    (seen,) = load_run(folder).cases[0].processes[0].watched
    assert (seen.usage.seconds, seen.usage.gpu_celsius) == (1e-9, 50)


def calibrated(*ratios):
    return {"event": "calibration", "case": 0, "run": "r", "started": "", "ratios": list(ratios),
            "disturbances": []}  # fmt: skip


MIDDLE = [
    watched(busy_seconds=1e308),
    watched(busy_seconds=-1.0),
    watched(busy_seconds="1"),
    watched(gpu={"joules": 1e300}),
    watched() | {"samples": []},
    watched() | {"samples": 7},
    watched() | {"cores": 0},
    watched() | {"process": 9},
    calibrated(),
    calibrated(1.0, 0.0),
    calibrated(1e300),
    {"event": "ceiling", "case": 0, "operator": "matmul", "size": 1, "amount": 1, "steps": 1,
     "nanoseconds": [0]},
    "{torn",
    "[]",
    "7",
    '"text"',
    "null",
    "{}",
    {"event": "block"},
    {"event": "block", "case": 99, "process": 0},
    {"event": "block", "case": 0, "process": 99, "round": 0, "steps": 1, "each": False,
     "nanoseconds": [1]},
    {"event": "block", "case": 0, "process": 0, "round": 0, "steps": 1, "each": False},
    {"event": "block", "case": 0, "process": 0, "round": 0, "steps": 1, "each": False,
     "nanoseconds": []},
    {"event": "block", "case": 0, "process": 0, "round": 0, "steps": 1, "each": False,
     "nanoseconds": [0]},
    {"event": "block", "case": 0, "process": 0, "round": 0, "steps": "1", "each": False,
     "nanoseconds": [1]},
    {"event": "block", "case": 0, "process": 0, "round": 0, "steps": 1, "each": False,
     "nanoseconds": ["1"]},
    {"event": "memory", "case": 0, "process": 0, "peak_bytes": "much"},
    {"event": "case", "case": 5},
    {"event": "comparison_end", "comparison": 9, "reason": "x"},
    {"event": "end"},
    '{"event": "memory", "case": 0, "process": 0, "peak_bytes": 1e999}',
    '{"event": "memory", "case": 0, "process": 0, "peak_bytes": NaN}',
    '{"event": "memory", "case": 0, "process": 0, "peak_bytes": 1' + "0" * 400 + "}",
    "[" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("line", MIDDLE, ids=lambda line: str(line)[:60])
def test_a_corrupt_line_in_the_middle_is_named(folder, line):
    made = events(folder)
    put(folder, *made[:-2])
    known = load_run(folder).cases
    put(folder, *made[:-2], line, *made[-2:])
    run = load_run(folder)
    assert (run.damage.line, run.cut_off) == (len(made) - 1, False)
    assert run.cases == known
    (said,) = run.oddities
    assert said.startswith(f"line {len(made) - 1} is damaged (")
    assert not re.search(r"Error\b|\n", said)


HEADER = {"event": "run", "schema": 1, "id": "x", "mbench": "0", "arguments": [], "started": "",
          "experiment": plain(measured_by(Adaptive()))}  # fmt: skip


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty: nothing was measured"),
        ("\n", "is not a run of mbench"),
        ("PK\x03\x04\x00binary\xff", "is not a run of mbench"),
        ("id,label,value\n1,a,2\n", "is not a run of mbench"),
        ('{"event": "block", "case": 0}\n', "is not a run of mbench"),
        ('{"event": "run"}\n', "is not a run of mbench"),
        ('{"event": "run", "schema": 1}\n', "is not a run of mbench"),
        (json.dumps(HEADER | {"schema": "one"}), "is not a run of mbench"),
        (json.dumps(HEADER)[:-5], "is not a run of mbench"),
        (
            json.dumps({"event": "run", "schema": 2, "mbench": "9.1", "shape": "new"}),
            r"was written by mbench 9.1 \(schema 2\); this version reads schema 1: upgrade mbench",
        ),
    ],
)
def test_files_that_are_no_run_are_refused_in_one_line(folder, content, said):
    (folder / "run.jsonl").write_text(content, encoding="latin-1")
    with pytest.raises(MbenchError, match=said) as caught:
        load_run(folder)
    assert "\n" not in str(caught.value)


def test_a_header_alone_is_a_run(folder, machine):
    put(folder, HEADER | {"system": asdict(machine())})
    assert load_run(folder).cases == {}


@pytest.mark.parametrize(
    "protocol",
    [None, {}, {"name": 7}, {"name": "unheard-of"}, {"name": "dlperf"},
     {"name": "adaptive", "rounds": "many"},
     {"name": "adaptive", "half_width_goal": 0.01, "most_processes": 1}],
)  # fmt: skip
def test_a_protocol_that_there_is_not_makes_no_run(folder, machine, protocol):
    put(
        folder,
        HEADER
        | {"system": asdict(machine()), "experiment": {"arms": ["tiny"], "protocol": protocol}},
    )
    with pytest.raises(MbenchError, match="is not a run of mbench"):
        load_run(folder)


def test_a_file_that_cannot_be_read_is_refused(folder):
    (folder / "run.jsonl").unlink()
    with pytest.raises(MbenchError, match="cannot read"):
        load_run(folder)
    (folder / "run.jsonl").mkdir()
    with pytest.raises(MbenchError, match=r"cannot read .*: Is a directory"):
        load_run(folder)
    (folder / "run.jsonl").rmdir()
    os.mkfifo(folder / "run.jsonl")
    with pytest.raises(MbenchError, match=r"cannot read .*: it is not a regular file"):
        load_run(folder)


@pytest.fixture
def results(tmp_path):
    for name in ("20260101-100000-aaaa", "20260101-100000-bbbb", "20260202-100000-cccc"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.jsonl").touch()
    (tmp_path / "20269999-notes").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("name", "picked"),
    [
        (None, "20260202-100000-cccc"),
        ("202602", "20260202-100000-cccc"),
        ("20260101-100000-b", "20260101-100000-bbbb"),
        ("20260101-100000-aaaa", "20260101-100000-aaaa"),
    ],
)
def test_runs_are_picked_by_how_their_names_begin(results, name, picked):
    assert pick_run(results, name).name == picked


@pytest.mark.parametrize(
    ("name", "said"), [("2025", "no run in"), ("20260101", "2 runs in"), ("20269", "no run in")]
)
def test_names_of_none_or_several_are_refused(results, name, said):
    with pytest.raises(UsageError, match=said):
        pick_run(results, name)


def test_the_latest_is_one_that_compared_something(write_run):
    made = [
        write_run(seconds={"tiny": [[1.0]], "flaky": [[1.0]]}),
        write_run(seconds={"tiny": [[1.0]]}, protocol=PRESETS["explain"]),
        write_run(seconds={"tiny": [[1.0]]}),
        write_run(seconds={"tiny": []}, status="interrupted"),
    ]
    result, explained, calibrated, empty = (
        folder.rename(folder.parent / f"2026010{at}") for at, folder in enumerate(made)
    )
    file = calibrated / "run.jsonl"
    file.write_text(file.read_text().replace('["mbench"]', '["mbench","calibrate","tiny"]', 1))
    assert pick_run(result.parent, None) == result
    assert pick_run(result.parent, None, explained=True) == explained
    shutil.rmtree(result)
    assert pick_run(result.parent, None) == empty, "there is no better one"


def test_a_case_that_an_interrupted_run_did_not_get_to_is_no_failure(write_run):
    run = load_run(write_run(seconds={"tiny": [[1.0]], "flaky": []}, status="interrupted"))
    (case,) = (case for case in analyse(run).cases if case.label == "flaky")
    assert (case.outcome, case.reason) == ("not-measured", "interrupted before its first round")


def test_runs_are_found_oldest_first(results):
    assert [path.name[-4:] for path in find_runs(results)] == ["aaaa", "bbbb", "cccc"]


@pytest.mark.parametrize("name", ["empty", "missing"])
def test_no_runs_at_all(tmp_path, name):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"no runs in .*--results"):
        pick_run(tmp_path / name, None)


def test_a_run_may_be_named_by_its_path(folder, tmp_path):
    for name in (folder, folder / "run.jsonl"):
        assert load_run(pick_run(tmp_path / "elsewhere", str(name))).id == folder.name


def test_a_batch_of_nothing_is_refused(folder):
    made = events(folder)
    made[2]["axes"]["batch_size"] = 0
    put(folder, *made)
    (said,) = load_run(folder).oddities
    assert said.startswith("line 3 is damaged (an empty batch)")


def test_half_a_surrogate_pair_can_be_printed(folder, capfdbinary):
    from mbench.cli.output import emit

    made = events(folder)
    made[2]["label"] = "half \ud800"
    put(folder, *made)
    emit(folder, lambda summary: summary.cases[0].label, None)
    assert capfdbinary.readouterr().out == b"half ?"
