"""Fixtures of more than one folder; nothing that a test does may reach the user's own files."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from mbench.plan.adaptive import Adaptive
from mbench.plan.plan import Sweep, plan
from mbench.plugins import Plugins
from mbench.results.run import load_run
from mbench.results.store import RunWriter
from mbench.results.summary import summarize

if TYPE_CHECKING:
    from mbench.plan.protocol import Protocol

WriteRun = Callable[..., Path]
PROVEN = {
    "proven": True, "worst": 1.2e-7, "failures": [], "findings": [], "notes": [], "version": "1.2",
}  # fmt: skip


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CALIBRATIONS", "ENVIRONMENTS", "PROOFS", "RESULTS"):
        monkeypatch.setenv(f"MBENCH_{name}", str(tmp_path / name.lower()))
    for name in ("MBENCH_DISABLE_EXTERNAL_PLUGINS", "FLAKY", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def plugins() -> Plugins:
    """mbench's own and the tiny framework's, whatever else is installed here."""
    entries = [
        EntryPoint("mbench_builtin", "mbench.builtin", "mbench"),
        EntryPoint("mbench_tiny", "mbench_tiny", "mbench"),
    ]
    return Plugins(external=True, entries=entries)


@pytest.fixture
def write_run(tmp_path: Path, plugins: Plugins) -> WriteRun:
    """Writes a run of made-up values and gives its folder.

    `seconds[label][process]` are those of each round's block of 10 steps, `single[label]` the
    milliseconds of steps timed one by one, `losses[label]` the first losses,
    `watched[label][process][round]` the machine's samples, `ceiling[label]` its probes,
    `calibrated[label]` ratios of A/A, `ends[label]` a CaseEnded, `proofs[label]` documents.
    """

    def write_run(
        *,
        seconds: dict[str, list[list[float]]],
        single: dict[str, list[float]] | None = None,
        losses: dict[str, list[float]] | None = None,
        watched: dict[str, list[list[list[dict[str, Any]]]]] | None = None,
        ceiling: dict[str, list[dict[str, Any]]] | None = None,
        calibrated: dict[str, list[float]] | None = None,
        ends: dict[str, Any] | None = None,
        proofs: dict[str, dict[str, Any]] | None = None,
        status: str | None = "complete",
        end: str | None = "all processes measured",
        system: dict[str, Any] | None = None,
        version: str = "1.2",
        protocol: Protocol | None = None,
        **axes: Any,
    ) -> Path:
        store = RunWriter(
            tmp_path / "results",
            protocol=protocol or Adaptive(),
            system=system or {},
            arguments=["mbench"],
        )
        axes = {"models": ("tiny-model",), "batch_sizes": (8,), "frameworks": seconds, **axes}
        comparisons = plan(Sweep(**axes), plugins)
        for comparison in comparisons:
            store.comparison(comparison)
        for entry in [entry for comparison in comparisons for entry in comparison.entries]:
            number, label = entry.number, entry.label
            if proof := (proofs or {}).get(label):
                store.append("equal_work", case=number, **proof)
            for process, rounds in enumerate(seconds.get(label, [])):
                if process == 0:
                    store.append(
                        "framework", case=number, version=version, devices=["cpu"],
                        device_name="CPU", threads=1, versions={}, details={},
                    )  # fmt: skip
                store.append(
                    "process", case=number, process=process, pid=1, prepare_seconds=0.5,
                    trainable_parameters=7, differences=["by hand"],
                    first_loss=(losses or {}).get(label, [4.0] * 99)[process],
                    first_step_nanoseconds=10**9 * (process + 1), warmup_blocks=[[4, 10**8]],
                    warmup_reason="steady",
                )  # fmt: skip
                for at, elapsed in enumerate(rounds):
                    times = {False: [elapsed * 1e9]}
                    if process == 0 and at == 0 and single and label in single:
                        times[True] = [value * 1e6 for value in single[label]]
                    for each, values in times.items():
                        store.append(
                            "block", case=number, process=process, round=at, each=each, start=0,
                            steps=len(values) if each else 10, nanoseconds=[*map(round, values)],
                        )  # fmt: skip
                    if samples := (watched or {}).get(label):
                        store.append(
                            "telemetry", case=number, process=process, round=at, each=False,
                            cores=2, samples=samples[process][at],
                        )  # fmt: skip
                store.append("memory", case=number, process=process, peak_bytes=2**20 * 100)
            if ratios := (calibrated or {}).get(label):
                store.append(
                    "calibration", case=number, run="before", started="then", ratios=ratios,
                    disturbances=[],
                )  # fmt: skip
            for probe in (ceiling or {}).get(label, []):
                store.append("ceiling", case=number, **probe)
            if label in (ends or {}):
                store.outcome(number, ends[label])
        for comparison in comparisons:
            if end is not None:
                store.append("comparison_end", comparison=comparison.number, reason=end)
        if status is not None:
            store.end(status)
        store._file.close()
        return store.folder

    return write_run


@pytest.fixture
def document(write_run: WriteRun) -> Callable[..., dict[str, Any]]:
    """The summary of a run of made-up values."""
    return lambda **made: summarize(load_run(write_run(**made)))


@pytest.fixture
def proven() -> SimpleNamespace:
    """The documents of a proof and of its opposite."""
    failed = {**PROVEN, "proven": False, "failures": ["updates: change of w off by 0.5"]}
    return SimpleNamespace(yes=PROVEN, no=failed)
