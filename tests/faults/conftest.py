"""Fixtures for tests of what goes wrong: surroundings for commands, and a run that is open."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import pytest
from cases import GATES, make_case
from support.experiments import measured_by
from surroundings import Surroundings, eventually

from mbench.cli.main import main
from mbench.machine.system import describe_system
from mbench.results import events
from mbench.results.store import RunWriter
from mbench.spec.adaptive import Adaptive

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def around(tmp_path: Path) -> Iterator[Surroundings]:
    """Surroundings in which no process is left when the test has ended."""
    surroundings = Surroundings(tmp_path)
    yield surroundings
    eventually(lambda: surroundings.living() == [], "gone")


@pytest.fixture
def store(tmp_path):
    """A run with one process of one case, still open."""
    store = RunWriter(
        tmp_path / "results",
        experiment=measured_by(Adaptive()),
        system=describe_system({}),
        arguments=["mbench"],
    )
    store.append(events.Comparison(comparison=0, title="a title"))
    store.append(
        events.Case(
            case=0, comparison=0, label="tiny", framework="tiny", framework_title="Tiny",
            spec="tiny", axes=make_case(), samples="samples", flops_per_sample=1.0, standard=True,
            gates=GATES,
        )
    )  # fmt: skip
    store.append(
        events.Process(
            case=0, process=0, pid=1, prepare_seconds=0.1, trainable_parameters=1, differences=[],
            batches=8, first_loss=1.0, first_step_nanoseconds=1, warmup_blocks=[],
            warmup_reason="steady",
        )
    )  # fmt: skip
    store.append(
        events.Block(
            case=0, process=0, round=0, each=False, steps=1, start=0, nanoseconds=[1000]
        )
    )  # fmt: skip
    yield store
    store.close()


@pytest.fixture
def mbench(monkeypatch, capfd):
    """A function that runs mbench in this process; it returns the exit code, stdout and stderr."""
    monkeypatch.setattr(sys, "stderr", sys.stderr)  # mbench replaces it by one of its own
    monkeypatch.setenv("COLUMNS", "200")
    before = signal.getsignal(signal.SIGTERM)

    def mbench(*arguments):
        monkeypatch.setattr(sys, "argv", ["mbench", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, *capfd.readouterr()

    yield mbench
    signal.signal(signal.SIGTERM, before)
