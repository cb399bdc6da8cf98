"""An attempt that an absence overlaps is repeated, but not for ever."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from mbench.engine import watching
from mbench.engine.outcome import CaseEnded
from mbench.engine.watching import TRIES, absences, undisturbed
from mbench.machine.absence import ATTENDANCE, Absence

WORKER = SimpleNamespace(log=Path("log"), processes=())


@pytest.fixture
def away(monkeypatch):
    """The absences so far, to which an attempt may add."""
    found: list[int] = []
    monkeypatch.setattr(watching, "absences", lambda worker: [*found])
    return found


def test_what_an_absence_overlapped_is_repeated(away):
    attempts, before_each = [], []

    def attempt():
        attempts.append(len(away))
        if len(attempts) <= 2:
            away.append(1)
        return len(attempts)

    again = lambda _: before_each.append(len(away))  # noqa: E731
    assert undisturbed(WORKER, attempt, again=again) == 3
    assert attempts == [0, 1, 2]
    assert before_each == [1, 2]


def test_absences_that_do_not_end_end_the_case(away):
    attempts = []

    def attempt():
        attempts.append(1)
        away.append(1)

    with pytest.raises(CaseEnded, match="stopped during each of 10 attempts to time a") as caught:
        undisturbed(WORKER, attempt)
    assert caught.value.outcome == "failed"
    assert len(attempts) == TRIES


def test_another_workers_absence_is_not_ours(monkeypatch):
    ours, others, common = (
        Absence(ended="then", seconds=1.0, what=what, pid=pid)
        for what, pid in (("worker", 7), ("worker", 8), ("mbench", 0))
    )
    monkeypatch.setattr(ATTENDANCE, "absences", lambda: [ours, others, common])
    monkeypatch.setattr(watching, "pids_here", lambda worker: [7])
    assert absences(WORKER) == [ours, common]
