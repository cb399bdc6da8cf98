"""Fixtures that several folders share; they keep tests away from the user's own files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from fake_fio import install
from support.experiments import asked, measured_by

from mbench.contract.reading import read_fields
from mbench.machine.records import Sample, System
from mbench.measure import facts
from mbench.plugins.manager import Plugins
from mbench.results import events
from mbench.results.proof import SHOWN, ProofRecord
from mbench.results.run import load_run
from mbench.results.store import RunWriter
from mbench.results.summary import analyse
from mbench.spec.adaptive import Adaptive
from mbench.spec.planning import plan

if TYPE_CHECKING:
    from mbench.engine.outcome import CaseEnded
    from mbench.results.summary import Summary
    from mbench.spec.protocol import Protocol

WriteRun = Callable[..., Path]
PROVEN = ProofRecord(proven=True, worst=1.2e-7, failures=[], findings=[], notes=[], version="1.2")
MACHINE = {
    "hostname": "made-up", "os": "Linux", "python": "3.11.7", "cpu": "made-up",
    "physical_cores": 2, "logical_cores": 2, "usable_cores": 2, "default_threads": 2,
    "threads_because": "all 2 cores of the machine", "governor": None,
    "current_mhz": None, "transparent_huge_pages": None, "memory_bytes": 2**34,
    "load_average": [0.0, 0.0, 0.0], "gpus": [], "variables": {},
}  # fmt: skip


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CALIBRATIONS", "ENVIRONMENTS", "PROOFS", "RESULTS"):
        monkeypatch.setenv(f"MBENCH_{name}", str(tmp_path / name.lower()))
    for name in ("MBENCH_DISABLE_EXTERNAL_PLUGINS", "FLAKY", "COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def plugins() -> Plugins:
    """The plugins of mbench itself and of the tiny framework, whatever else is installed here."""
    entries = [
        EntryPoint("mbench_builtin", "mbench.cli.builtin", "mbench"),
        EntryPoint("mbench_tiny", "mbench_tiny", "mbench"),
    ]
    return Plugins(external=True, entries=entries)


@pytest.fixture
def machine() -> Callable[..., System]:
    """Makes the record of a made-up machine with two cores, or with the facts given."""
    return lambda **facts: System(**{**MACHINE, **facts})


@pytest.fixture
def fake_fio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Leaves nothing on PATH but a `fio` that runs the given lines of Python."""

    def fake_fio(lines: str) -> None:
        install(tmp_path / "bin", lines)
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    return fake_fio


@pytest.fixture
def write_run(tmp_path: Path, plugins: Plugins, machine: Callable[..., System]) -> WriteRun:
    """Writes a run of made-up values and returns its folder.

    `seconds[label][process]` are those of each round's block of 10 steps, `single[label]` the
    milliseconds of steps timed one by one, `losses[label][process]` the first losses,
    `watched[label][process][round]` the machine's samples, `paces[label][round]` the paces of the
    cores, `memory_paces[label][round]` those of memory, `ceiling[label]` the ceilings,
    `calibrated[label]` ratios of A/A, `ends[label]` a CaseEnded, `proofs[label]` a ProofRecord.
    """

    def write_run(
        *,
        seconds: dict[str, list[list[float]]],
        single: dict[str, list[float]] | None = None,
        losses: dict[str, list[float]] | None = None,
        watched: dict[str, list[list[list[dict[str, Any]]]]] | None = None,
        paces: dict[str, list[int]] | None = None,
        memory_paces: dict[str, list[int]] | None = None,
        ceiling: dict[str, list[dict[str, Any]]] | None = None,
        calibrated: dict[str, list[float]] | None = None,
        ends: dict[str, CaseEnded] | None = None,
        proofs: dict[str, ProofRecord] | None = None,
        status: str | None = "complete",
        end: str | None = "all processes measured",
        set_seconds: float | None = None,
        system: dict[str, Any] | None = None,
        version: str = "1.2",
        protocol: Protocol | None = None,
        arguments: Sequence[str] = ("mbench",),
        **axes: Any,
    ) -> Path:
        store = RunWriter(
            tmp_path / "results", experiment=measured_by(protocol or Adaptive()),
            system=machine(**(system or {})), arguments=[*arguments],
        )  # fmt: skip
        fields = ("frameworks", "sizes", "device", "threads")
        given = {"frameworks": tuple(seconds)} | {n: axes.pop(n) for n in fields if n in axes}
        wanted = {"model": ("tiny-model",), "batch_size": (8,), **axes}
        comparisons = plan(asked(wanted=wanted, **given), plugins)
        for comparison in comparisons:
            about = events.Comparison(comparison=comparison.number, title=comparison.title)
            for event in (about, *facts.cases(comparison)):
                store.append(event)
        for entry in [entry for comparison in comparisons for entry in comparison.entries]:
            of_case, label = {"case": entry.number}, entry.label
            if proof := (proofs or {}).get(label):
                store.append(events.EqualWork(**of_case, **vars(proof)))
            if seconds.get(label):
                store.append(
                    events.Framework(
                        **of_case, version=version, devices=["cpu"], device_name="CPU", threads=1
                    )
                )
            for process, rounds in enumerate(seconds.get(label, [])):
                store.append(
                    events.Process(
                        **of_case, process=process, pid=1, prepare_seconds=0.5,
                        trainable_parameters=7, differences=["by hand"], batches=8,
                        first_loss=(losses or {}).get(label, [4.0] * 99)[process],
                        first_step_nanoseconds=10**9 * (process + 1),
                        warmup_blocks=[(4, 10**8)], warmup_reason="steady",
                    )
                )  # fmt: skip
                for at, elapsed in enumerate(rounds):
                    of_round = {**of_case, "process": process, "round": at, "start": 0}
                    whole = [round(elapsed * 1e9)]
                    store.append(events.Block(**of_round, each=False, steps=10, nanoseconds=whole))
                    if process == at == 0 and (values := (single or {}).get(label)):
                        each = [round(value * 1e6) for value in values]
                        store.append(
                            events.Block(**of_round, each=True, steps=len(each), nanoseconds=each)
                        )
                    if seen := (watched or {}).get(label):
                        samples = [
                            read_fields(Sample, sample, where="sample")
                            for sample in seen[process][at]
                        ]
                        store.append(
                            events.Telemetry(
                                **of_case, process=process, round=at, each=False, cores=2,
                                samples=samples, pace=(paces or {}).get(label, [None] * 99)[at],
                                memory_pace=(memory_paces or {}).get(label, [None] * 99)[at],
                            )
                        )  # fmt: skip
                store.append(
                    events.Memory(
                        **of_case, process=process, peak_bytes=2**20 * 100, idle_look=10**6
                    )
                )
            if ratios := (calibrated or {}).get(label):
                store.append(
                    events.Calibration(
                        **of_case, run="before", started="then", ratios=ratios, disturbances=[]
                    )
                )
            for one in (ceiling or {}).get(label, []):
                store.append(events.Ceiling(**of_case, **one))
            if label in (ends or {}):
                store.append(facts.outcome(entry, ends[label]))
        for comparison in comparisons:
            if end is not None:
                store.append(
                    events.ComparisonEnd(
                        comparison=comparison.number, reason=end, set_seconds=set_seconds
                    )
                )
        if status is not None:
            store.end(status)
        store.close()
        return store.folder

    return write_run


@pytest.fixture
def summary(write_run: WriteRun) -> Callable[..., Summary]:
    """Writes a run of made-up values, as write_run does, and returns its summary."""
    return lambda **made: analyse(load_run(write_run(**made)))


@pytest.fixture
def document(summary: Callable[..., Summary]) -> Callable[..., dict[str, Any]]:
    """The summary of a run of made-up values, as plain data."""
    return lambda **made: summary(**made).to_json()


@pytest.fixture
def proven() -> SimpleNamespace:
    """Records of a proof (`yes`), of one of the second grade (`shown`) and of a failure (`no`)."""
    shown = replace(PROVEN, grade=SHOWN)
    failed = replace(PROVEN, proven=False, failures=["updates: change of w off by 0.5"])
    return SimpleNamespace(yes=PROVEN, shown=shown, no=failed)
