"""What is written while a run is made."""

from __future__ import annotations

import json
import sys

import pytest

import mbench
from mbench.engine.outcome import CaseEnded
from mbench.errors import MbenchError
from mbench.plan.adaptive import Adaptive
from mbench.results.folder import SCHEMA
from mbench.results.store import RunWriter, command_line


@pytest.fixture
def store(tmp_path):
    store = RunWriter(
        tmp_path / "deep" / "results",
        protocol=Adaptive(rounds=3),
        system={"cpu": "X"},
        arguments=["mbench", "compare"],
    )
    yield store
    store.end("interrupted")


def events(store):
    lines = (store.folder / "run.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_a_run_begins_with_what_made_it(store):
    (header,) = events(store)
    assert header["event"] == "run"
    assert header["schema"] == SCHEMA
    assert header["id"] == store.id == store.folder.name
    assert header["mbench"] == mbench.__version__
    assert header["arguments"] == ["mbench", "compare"]
    assert header["protocol"]["rounds"] == 3
    assert header["system"] == {"cpu": "X"}


def test_every_event_is_on_disk_at_once(store):
    for number in range(3):
        store.append("block", number=number, text='line\nbreak "quoted" \u2028')
        assert events(store)[-1]["number"] == number
    assert len(events(store)) == 4


def test_what_is_not_finite_is_refused_and_leaves_no_trace(store):
    with pytest.raises(ValueError, match="JSON"):
        store.append("block", value=float("nan"))
    store.append("block", value=1)
    assert [event["event"] for event in events(store)] == ["run", "block"]


def test_outcomes_are_counted_and_say_where_the_log_is(store):
    store.outcome(3, CaseEnded("oom", "too large", log=store.log_path("3.log")))
    store.outcome(4, CaseEnded("unsupported", "no"))
    assert store.failures == 2
    assert events(store)[1:] == [
        {
            "event": "outcome",
            "case": 3,
            "outcome": "oom",
            "reason": "too large",
            "log": str(store.folder / "logs" / "3.log"),
        },
        {"event": "outcome", "case": 4, "outcome": "unsupported", "reason": "no", "log": None},
    ]


def test_the_first_end_counts(store):
    store.end("complete")
    store.end("interrupted")
    assert [event.get("status") for event in events(store)] == [None, "complete"]


def test_runs_made_in_the_same_second_have_names_of_their_own(tmp_path):
    made = [RunWriter(tmp_path, protocol=Adaptive(), system={}, arguments=[]) for _ in range(5)]
    for store in made:
        store.end("complete")
    assert len({store.folder for store in made}) == 5


def test_a_folder_that_cannot_be_is_said(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(MbenchError, match=r"cannot write results to .*file.*--results"):
        RunWriter(tmp_path / "file", protocol=Adaptive(), system={}, arguments=[])


def test_the_command_line_is_what_was_typed(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/somewhere/mbench", "run", "tiny"])
    assert command_line() == ["mbench", "run", "tiny"]
