"""What is written while a run is measured."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from evidenced import make_process, make_record
from support.experiments import measured_by

import mbench
from mbench.contract.reading import Malformed
from mbench.errors import MbenchError
from mbench.results import events as recorded
from mbench.results.folder import SCHEMA
from mbench.results.run import load_run
from mbench.results.store import RunWriter
from mbench.spec.adaptive import Adaptive


@pytest.fixture
def store(tmp_path, machine):
    store = RunWriter(
        tmp_path / "deep" / "results",
        experiment=measured_by(Adaptive(rounds=3)),
        system=machine(cpu="X"),
        arguments=["mbench", "compare"],
    )
    yield store
    store.end("interrupted")


def events(store):
    lines = (store.folder / "run.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_a_run_begins_with_what_made_it(store, machine):
    (header,) = events(store)
    assert header["event"] == "run"
    assert header["schema"] == SCHEMA
    assert header["id"] == store.id == store.folder.name
    assert header["mbench"] == mbench.__version__
    assert header["arguments"] == ["mbench", "compare"]
    assert header["experiment"]["protocol"]["rounds"] == 3
    assert header["system"] == asdict(machine(cpu="X"))


def test_every_event_is_on_disk_at_once(store):
    for number in range(3):
        title = f'line\nbreak "quoted" \u2028 {number}'
        store.append(recorded.Comparison(comparison=number, title=title))
        assert events(store)[-1]["title"] == title
    assert len(events(store)) == 4


def begun(store):
    """The store, after it has taken a comparison, a case of it and a process of that case."""
    record = make_record(make_process())
    store.append(recorded.Comparison(comparison=0, title="t"))
    store.append(record.planned)
    store.append(record.processes[0].warm)
    return store


def test_what_is_written_is_known_as_it_would_be_read(store):
    begun(store).append(recorded.Memory(case=0, process=0, peak_bytes=1, idle_look=1))
    read = load_run(store.folder)
    assert (store.run.cases, store.run.comparisons) == (read.cases, read.comparisons)
    assert store.run.cases[0].processes[0].peak_bytes == 1


def test_what_could_not_be_read_back_is_refused_and_leaves_no_trace(store):
    begun(store)
    for peak in (-1, 2**63, 1e30, float("nan"), "much"):
        with pytest.raises(Malformed, match=r"memory\.peak_bytes") as caught:
            store.append(recorded.Memory(case=0, process=0, peak_bytes=peak, idle_look=1))
        assert "\n" not in str(caught.value)
    store.append(recorded.Memory(case=0, process=0, peak_bytes=1, idle_look=1))
    assert [event["event"] for event in events(store)] == [
        "run", "comparison", "case", "process", "memory"
    ]  # fmt: skip


def test_outcomes_are_counted(store):
    begun(store)
    for reason in ("too large", "still too large"):
        store.append(recorded.Outcome(case=0, outcome="oom", reason=reason, log=None))
    assert store.failures == 2
    last = {"event": "outcome", "case": 0, "outcome": "oom", "reason": reason, "log": None}
    assert events(store)[-1] == last


def test_the_first_end_counts(store):
    store.end("complete")
    store.end("interrupted")
    assert [event.get("status") for event in events(store)] == [None, "complete"]


def test_runs_made_in_the_same_second_have_names_of_their_own(tmp_path, machine):
    of = {"experiment": measured_by(Adaptive()), "system": machine(), "arguments": []}
    made = [RunWriter(tmp_path, **of) for _ in range(5)]
    for store in made:
        store.end("complete")
    assert len({store.folder for store in made}) == 5


def test_a_folder_that_cannot_be_is_said(tmp_path, machine):
    (tmp_path / "file").touch()
    with pytest.raises(MbenchError, match=r"cannot write results to .*file.*--results"):
        RunWriter(
            tmp_path / "file", experiment=measured_by(Adaptive()), system=machine(), arguments=[]
        )
