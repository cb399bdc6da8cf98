"""Reads a run back: the raw values of every case, process and block."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from mbench.contract.adapter import FrameworkInfo
from mbench.contract.case import Case
from mbench.contract.reading import read_fields
from mbench.errors import MbenchError, UsageError
from mbench.results.calibration import Calibration
from mbench.results.folder import EVENTS_FILE, SCHEMA
from mbench.telemetry.sample import GpuSample, Sample

__all__ = ["Block", "CaseRecord", "Probed", "Process", "Run", "Watched", "find_runs", "load_run",
           "pick_run"]  # fmt: skip


@dataclass(frozen=True)
class Block:
    """`steps` steps between two synchronisations, or, if `each`, timed one by one."""

    round: int
    steps: int
    each: bool
    nanoseconds: list[int]


@dataclass(frozen=True)
class Watched:
    """What was seen of the machine during one block of `steps` steps.

    `cores` are those that the worker may use.
    """

    round: int
    steps: int
    cores: int
    samples: list[Sample]


@dataclass
class Process:
    """One fresh worker of one case."""

    number: int
    first_step_nanoseconds: int
    prepare_seconds: float
    differences: list[str]
    warmup_blocks: list[list[int]]
    warmup_reason: str
    first_loss: float | None
    blocks: list[Block] = field(default_factory=list)
    watched: list[Watched] = field(default_factory=list)
    peak_bytes: int | None = None


@dataclass(frozen=True)
class Probed:
    """Bare work of one size: `amount` FLOPs or bytes a step, or why it could not be timed."""

    probe: str
    size: int
    amount: int = 0
    steps: int = 0
    nanoseconds: list[int] = field(default_factory=list)
    reason: str = ""


@dataclass(frozen=True)
class Tried:
    """One value of a search, tried in a worker of its own."""

    value: Any
    outcome: str
    reason: str
    step_seconds: float | None
    peak_bytes: int | None


@dataclass(frozen=True)
class Found:
    """A search for the largest batch or the fastest compiler; `chosen` is None where none ran."""

    comparison: int
    label: str
    what: str
    chosen: Any
    tried: list[Tried]


@dataclass(frozen=True)
class ProofRecord:
    """What is read of a proof of equal work."""

    proven: bool
    worst: float | None
    failures: list[str]


@dataclass
class CaseRecord:
    """Everything that was written about one case."""

    number: int
    comparison: int
    label: str
    framework: str
    axes: dict[str, Any]
    samples: str
    flops_per_sample: float
    standard: bool
    loss_gate: float
    spec: str = ""
    title: str = ""
    environment: dict[str, Any] | None = None
    info: dict[str, Any] | None = None
    equal_work: dict[str, Any] | None = None
    outcome: str | None = None
    reason: str = ""
    log: str | None = None
    processes: dict[int, Process] = field(default_factory=dict)
    ceiling: list[Probed] = field(default_factory=list)
    calibration: Calibration | None = None


@dataclass
class Run:
    """One run as it lies on disk; `cut_off` where its file ends in the middle of a line."""

    folder: Path
    header: dict[str, Any]
    comparisons: dict[int, dict[str, Any]] = field(default_factory=dict)
    cases: dict[int, CaseRecord] = field(default_factory=dict)
    searches: list[Found] = field(default_factory=list)
    status: str = "unfinished"
    finished: str | None = None
    cut_off: bool = False

    @property
    def id(self) -> str:
        return str(self.header["id"])


def find_runs(folder: Path) -> list[Path]:
    """The folders of all runs, oldest first."""
    return sorted(path.parent for path in folder.glob(f"*/{EVENTS_FILE}"))


def pick_run(folder: Path, name: str | None) -> Path:
    """The run that `name` begins in `folder`, or lies at that path, or the latest.

    Raises UsageError where there is no such run, or more than one.
    """
    if name is not None and (Path(name).is_file() or (Path(name) / EVENTS_FILE).exists()):
        return Path(name)
    runs = find_runs(folder)
    if not runs:
        raise UsageError(f"no runs in {folder}; measure one, or name its folder with --results")
    if name is None:
        return runs[-1]
    matching = [run for run in runs if run.name.startswith(name)]
    if len(matching) != 1:
        what = "no run" if not matching else f"{len(matching)} runs"
        raise UsageError(f"{what} in {folder} named {name!r}; see mbench list runs")
    return matching[0]


def load_run(folder: Path) -> Run:
    """Read a run; raises MbenchError in one line for a file that is not one of ours."""
    path = folder if folder.is_file() else folder / EVENTS_FILE
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise MbenchError(f"cannot read {path}: {error.strerror}") from None
    run: Run | None = None
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            event = READER.decode(line.strip())
            if run is None:
                run = _open(folder, event)
            else:
                _apply(run, event)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            if run is None:
                raise MbenchError(
                    f"{path} is no run of mbench; name one that compare or run wrote"
                ) from None
            if number == len(lines) and run is not None:
                run.cut_off = True
                break
            raise MbenchError(f"{path}, line {number}: not an event of a run ({error!r})") from None
    if run is None:
        raise MbenchError(f"{path} is empty: nothing was measured")
    return run


def _finite(text: str) -> float:
    """A float; raises ValueError for what is none that can be computed with."""
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text:.20} is not finite")
    return value


def _whole(text: str) -> int:
    """An integer of 64 bits, which every sum and quotient of ours can hold."""
    if len(text) > 20 or not -(2**63) <= (value := int(text)) < 2**63:
        raise ValueError(f"{text:.20} is too large")
    return value


HEADER = {
    "id": str, "mbench": str, "arguments": list, "started": str, "protocol": dict, "system": dict,
}  # fmt: skip
READER = json.JSONDecoder(parse_float=_finite, parse_int=_whole, parse_constant=_finite)


def _open(folder: Path, event: dict[str, Any]) -> Run:
    if event["event"] != "run":
        raise ValueError("it does not begin with a run")
    if event["schema"] > SCHEMA:
        raise MbenchError(
            f"{folder} was written by mbench {event['mbench']} (schema {event['schema']}); "
            f"this one reads schema {SCHEMA}: upgrade mbench"
        )
    for name, kind in HEADER.items():
        if not isinstance(event[name], kind):
            raise ValueError(f"{name} is no {kind.__name__}")
    for name in ("name", "claims_interval", "side_by_side", "percentiles_by_epoch"):
        if not isinstance(event["protocol"][name], str if name == "name" else bool):
            raise ValueError(f"the protocol's {name} is none")
    if not all(isinstance(gpu, dict) for gpu in event["system"].get("gpus") or []):
        raise ValueError("a GPU without names")
    return Run(folder=folder, header=event)


def _apply(run: Run, event: dict[str, Any]) -> None:
    kind = event.pop("event")
    if kind == "comparison":
        run.comparisons[event["comparison"]] = {"title": event["title"], "reason": None}
    elif kind == "comparison_end":
        run.comparisons[event["comparison"]]["reason"] = event["reason"]
    elif kind == "search":
        found: Found = _read(Found, event)
        run.comparisons[found.comparison]  # or there is none
        run.searches.append(found)
    elif kind == "resumed":
        run.status, run.finished = "unfinished", None
    elif kind == "end":
        run.status, run.finished = event["status"], event["finished"]
    elif kind == "case":
        case = _read(CaseRecord, {**event, "number": event["case"]})
        if _read(Case, case.axes).batch_size < 1:
            raise ValueError("a batch of nothing")
        run.comparisons[case.comparison]  # or there is none
        run.cases[case.number] = case
    else:
        _apply_to_case(run.cases[event.pop("case")], kind, event)


def _apply_to_case(case: CaseRecord, kind: str, event: dict[str, Any]) -> None:
    if kind == "environment":
        case.environment = event
    elif kind == "framework":
        _read(FrameworkInfo, event)
        case.info = event
    elif kind == "equal_work":
        _read(ProofRecord, event)
        case.equal_work = event
    elif kind == "outcome":
        case.outcome, case.reason, case.log = event["outcome"], event["reason"], event["log"]
    elif kind == "process":
        process = _read(Process, {**event, "number": event["process"]})
        case.processes[process.number] = process
    elif kind == "block":
        block = _read(Block, event)
        if block.steps < 1 or min(block.nanoseconds) < 1:
            raise ValueError("a block without steps or time")
        case.processes[event["process"]].blocks.append(block)
    elif kind == "telemetry":
        process = case.processes[event["process"]]
        samples = [_sample(sample) for sample in event["samples"]]
        watched = _read(Watched, {**event, "samples": samples, "steps": process.blocks[-1].steps})
        if len(watched.samples) < 2 or watched.cores < 1:
            raise ValueError("a block's machine is seen twice at least")
        process.watched.append(watched)
    elif kind == "calibration":
        case.calibration = _read(Calibration, event)
    elif kind == "ceiling":
        probed = _read(Probed, event)
        if not probed.reason and min(probed.amount, probed.steps, *probed.nanoseconds, 1) < 1:
            raise ValueError("a probe without work or time")
        case.ceiling.append(probed)
    elif kind == "memory":
        case.processes[event["process"]].peak_bytes = int(event["peak_bytes"])
    # Events of kinds unknown here are additions of the same schema and are passed over.


def _sample(event: dict[str, Any]) -> dict[str, Any]:
    """What is known of a sample's fields; raises ValueError for what no counter can show."""
    gpu = _known(GpuSample, event.get("gpu") or {})
    sample = _known(Sample, {name: value for name, value in event.items() if name != "gpu"})
    if any(value is not None and not 0 <= value < 2**63 for value in (sample | gpu).values()):
        raise ValueError("a sample of what no machine shows")
    return sample | ({"gpu": gpu} if gpu else {})


def _known(kind: type, event: dict[str, Any]) -> dict[str, Any]:
    """The fields of `event` that `kind` has; others are additions of the same schema."""
    names = {f.name for f in fields(kind)}
    return {name: value for name, value in event.items() if name in names}


def _read(kind: type, event: dict[str, Any]) -> Any:
    """A record from the fields of an event that it has."""
    return read_fields(kind, _known(kind, event), where=kind.__name__)
