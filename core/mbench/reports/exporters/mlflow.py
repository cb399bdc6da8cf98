"""MLflow: a run of ours as a run of theirs, with one nested run for each case."""

from __future__ import annotations

import os
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbench.contract import axes
from mbench.errors import MbenchError, lacking
from mbench.reports.remarks import verdict_lines
from mbench.results.folder import EVENTS_FILE

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Metric

__all__ = ["check", "send"]

Document = dict[str, Any]

EXPERIMENT = "mbench"
# What one request may hold, and the longest text of a tag or parameter, in every store.
BATCH, LONGEST = 1000, 250


def check() -> None:
    """Raises MbenchError where MLflow is not installed; importing it takes seconds."""
    if find_spec("mlflow") is None:
        raise lacking("MLflow", extra="mlflow")


def send(document: Document, folder: Path, /) -> str:
    """Write to the store that MLFLOW_TRACKING_URI names, or MLflow's default.

    The experiment is MLFLOW_EXPERIMENT_NAME, or "mbench".
    """
    check()
    import mlflow
    from mlflow.exceptions import MlflowException

    name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or EXPERIMENT
    try:
        client = mlflow.MlflowClient()
        found = client.get_experiment_by_name(name)
        experiment = found.experiment_id if found else client.create_experiment(name)
        whole = write_run(client, experiment, document, folder)
        for case in range(len(document["cases"])):
            write_case(client, experiment, document, case, parent=whole)
    except (MlflowException, OSError) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise MbenchError(f"MLflow does not take the run: {said}") from None
    return f"run {whole} of experiment {name} at {mlflow.get_tracking_uri()}"


def write_run(client: MlflowClient, experiment: str, document: Document, folder: Path) -> str:
    """The run as a whole: its verdicts, its page and its raw values."""
    tags = {
        "mbench.run": document["run"],
        "mbench.version": document["mbench"],
        "mbench.status": document["status"],
        "mbench.command": " ".join(map(str, document["command"]))[:LONGEST],
        "mlflow.note.content": "\n\n".join(map(str, verdict_lines(document))),
    }
    run: str = client.create_run(experiment, run_name=document["run"], tags=tags).info.run_id
    for name in ("cpu", "hostname", "os"):
        if value := document["system"].get(name):
            client.log_param(run, name, str(value)[:LONGEST])
    from mbench.reports.html import render

    with tempfile.TemporaryDirectory() as scratch:
        page = Path(scratch, "report.html")
        page.write_text(render(document), encoding="utf-8", errors="replace")
        client.log_artifact(run, str(page))
    client.log_artifact(run, str(folder if folder.is_file() else folder / EVENTS_FILE))
    client.set_terminated(run)
    return run


def write_case(
    client: MlflowClient, experiment: str, document: Document, at: int, *, parent: str
) -> None:
    """One case: what it is as parameters, its numbers as metrics, its rounds as their history."""
    case = document["cases"][at]
    tags = {
        "mlflow.parentRunId": parent,
        "mbench.outcome": case["outcome"],
        "mbench.reason": case["reason"][:LONGEST],
        **{f"mbench.{name}": text for name, text in against(document, at)[1].items()},
    }
    title = f"{case['label']}: {axes.name(case)}"
    run = client.create_run(experiment, run_name=title[:LONGEST], tags=tags).info.run_id
    for name, value in parameters(case).items():
        client.log_param(run, name, value)
    points = metrics({**numbers(case), **against(document, at)[0]}, case)
    for begin in range(0, len(points), BATCH):
        client.log_batch(run, metrics=points[begin : begin + BATCH])
    client.set_terminated(run, status="FINISHED" if case["outcome"] == "ok" else "FAILED")


def parameters(case: Document) -> dict[str, str]:
    """What a case is, as text that is not too long for any store."""
    who = {name: case[name] for name in ("framework", "label", "version")}
    known = who | {axis.name: axis.value(case) for axis in axes.AXES}
    return {name: str(value)[:LONGEST] for name, value in known.items() if value is not None}


def numbers(case: Document) -> dict[str, float | None]:
    speed, times = case["throughput"] or {}, case["step_time_ms"] or {}
    return {
        "samples_per_second": speed.get("value"),
        "samples_per_second_low": speed.get("low"),
        "samples_per_second_high": speed.get("high"),
        "step_time_ms": times.get("mean"),
        **{f"step_time_ms_{name}": value for name, value in times.items() if name.startswith("p")},
        "first_step_seconds": case["first_step_seconds"],
        "peak_memory_bytes": case["peak_memory_bytes"],
        "device_memory_bytes": case["device_memory_bytes"],
        "joules_per_sample": (case.get("energy") or {}).get("joules_per_sample"),
    }


def against(document: Document, at: int) -> tuple[dict[str, float | None], dict[str, str]]:
    """The ratio to the baseline, and what is said of it; nothing for a baseline."""
    for comparison in document["comparisons"]:
        if comparison["cases"][1] == at and comparison["against_first"]:
            ratio = {
                "ratio": comparison["ratio"],
                "ratio_low": comparison["low"],
                "ratio_high": comparison["high"],
                "ratio_median": comparison["median"],
            }
            said = {name: comparison[name] for name in ("baseline", "verdict", "equal_work")}
            return ratio, {name: str(text) for name, text in said.items() if text is not None}
    return {}, {}


def metrics(values: dict[str, float | None], case: Document) -> list[Metric]:
    """One point for each number, and a point for each round in the order of processes."""
    from mlflow.entities import Metric

    now = int(time.time() * 1000)
    made = [Metric(name, float(v), now, 0) for name, v in values.items() if v is not None]
    rounds = [rate for process in (case["throughput"] or {}).get("rounds", []) for rate in process]
    return made + [Metric("round_samples_per_second", r, now, at) for at, r in enumerate(rounds)]
