"""Runs of made-up values that several tests read."""

from __future__ import annotations

import re

import pytest

from mbench.engine.outcome import CaseEnded

SECONDS = {"tiny": [[1.0, 1.1], [1.2]], "flaky": [[2.0, 2.1]]}


@pytest.fixture
def folder(write_run):
    """The folder of a run of two processes of tiny, and of one of flaky, which then crashed."""
    return write_run(
        seconds=SECONDS, single={"tiny": [5.0, 6.0]}, ends={"flaky": CaseEnded("crashed", "gone")},
        system={"hostname": "here", "cpu": "EPYC"},
    )  # fmt: skip


@pytest.fixture
def three(write_run):
    """Three runs: steady, then twice as slow in a newer version, then flaky joins."""
    steady = [[1.0, 1.0], [1.01, 1.0], [1.0, 1.02]]
    slow = [[2 * seconds for seconds in process] for process in steady]
    runs = [
        write_run(seconds={"tiny": steady}),
        write_run(seconds={"tiny": slow}, version="1.3"),
        write_run(seconds={"tiny": slow, "flaky": steady}, version="1.3"),
    ]
    for day, run in enumerate(runs, start=1):
        text = re.sub(
            r'"started":"[^"]+"', f'"started":"2026-01-0{day}"', (run / "run.jsonl").read_text()
        )
        (run / "run.jsonl").write_text(text)
    return runs
