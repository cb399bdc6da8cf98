"""MLflow: a run of ours as a run of theirs, with one nested run for each case."""

from __future__ import annotations

import os
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.contract import axes
from mbench.errors import MbenchError, lacking
from mbench.reports.formats import figures, ratio
from mbench.reports.verdicts import verdict_lines
from mbench.results.folder import EVENTS_FILE

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Metric

    from mbench.reports.formats import Cells
    from mbench.results.case_summary import CaseSummary
    from mbench.results.summary import Summary

__all__ = ["check", "send"]

EXPERIMENT = "mbench"
# What one request may hold, and the longest text of a tag or parameter, in every store.
BATCH, LONGEST = 1000, 250


def check() -> None:
    """Raises MbenchError if MLflow is not installed; does not import it, which takes seconds."""
    if find_spec("mlflow") is None:
        raise lacking("MLflow", extra="mlflow")


def send(summary: Summary, folder: Path, /) -> str:
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
        whole = write_run(client, experiment, summary, folder)
        for at in range(len(summary.cases)):
            write_case(client, experiment, summary, at, parent=whole)
    except (MlflowException, OSError) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise MbenchError(f"MLflow does not accept the run: {said}") from None
    return f"run {whole} of experiment {name} at {mlflow.get_tracking_uri()}"


def write_run(client: MlflowClient, experiment: str, summary: Summary, folder: Path) -> str:
    """The run as a whole: its verdicts, its page and its raw values."""
    tags = {
        "mbench.run": summary.run,
        "mbench.version": summary.mbench,
        "mbench.status": summary.status,
        "mbench.command": " ".join(summary.command)[:LONGEST],
        "mlflow.note.content": "\n\n".join(map(str, verdict_lines(summary))),
    }
    run: str = client.create_run(experiment, run_name=summary.run, tags=tags).info.run_id
    system = summary.system
    for name, value in {"cpu": system.cpu, "hostname": system.hostname, "os": system.os}.items():
        if value:
            client.log_param(run, name, value[:LONGEST])
    from mbench.reports.html import render

    with tempfile.TemporaryDirectory() as scratch:
        page = Path(scratch, "report.html")
        page.write_text(render(summary), encoding="utf-8", errors="replace")
        client.log_artifact(run, str(page))
    client.log_artifact(run, str(folder if folder.is_file() else folder / EVENTS_FILE))
    client.set_terminated(run)
    return run


def write_case(
    client: MlflowClient, experiment: str, summary: Summary, at: int, *, parent: str
) -> None:
    """One case: what it is as parameters, its numbers as metrics, its rounds as their history."""
    case, compared = summary.cases[at], against(summary, at)
    tags = {
        "mlflow.parentRunId": parent,
        "mbench.outcome": case.outcome,
        "mbench.reason": case.reason[:LONGEST],
        **{f"mbench.{name}": text for name, text in compared.items() if isinstance(text, str)},
    }
    title = f"{case.label}: {axes.name(case.axes)}"
    run = client.create_run(experiment, run_name=title[:LONGEST], tags=tags).info.run_id
    for name, value in parameters(case).items():
        client.log_param(run, name, value)
    points = metrics({**figures(case), **compared}, case)
    for begin in range(0, len(points), BATCH):
        client.log_batch(run, metrics=points[begin : begin + BATCH])
    client.set_terminated(run, status="FINISHED" if case.outcome == "ok" else "FAILED")


def parameters(case: CaseSummary) -> dict[str, str]:
    """What a case is, as text that is not too long for any store."""
    known = {"framework": case.framework, "label": case.label, "version": case.version}
    known |= {axis.name: axis.value(case.axes) for axis in axes.AXES}
    return {name: str(value)[:LONGEST] for name, value in known.items() if value is not None}


def against(summary: Summary, at: int) -> Cells:
    """The ratio of a case to its baseline, and what is said about it; empty for a baseline."""
    for pair in summary.comparisons:
        if pair.cases[1] == at and pair.against_first:
            return ratio(pair)
    return {}


def metrics(values: Cells, case: CaseSummary) -> list[Metric]:
    """One point for each number, and a point for each round in the order of processes."""
    from mlflow.entities import Metric

    now = int(time.time() * 1000)
    numbers = {name: value for name, value in values.items() if isinstance(value, int | float)}
    made = [Metric(name, float(value), now, 0) for name, value in numbers.items()]
    processes = case.throughput.rounds if case.throughput else []
    rounds = [rate for of_process in processes for rate in of_process]
    return made + [Metric("round_samples_per_second", r, now, at) for at, r in enumerate(rounds)]
