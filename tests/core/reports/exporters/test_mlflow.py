"""Runs in a real MLflow store on this machine."""

from __future__ import annotations

import sys

import pytest
from click.testing import CliRunner

from mbench.cli.main import group
from mbench.engine.outcome import CaseEnded
from mbench.errors import MbenchError, UsageError
from mbench.reports.exporters.mlflow import send
from mbench.reports.verdicts import verdict_lines
from mbench.results.run import load_run
from mbench.results.summary import analyse

# MLflow itself uses what SQLAlchemy and others have deprecated.
pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("default")]

SECONDS = {"tiny": [[1.0, 1.1], [1.02, 1.0]], "flaky": [[2.0], [2.1]], "tiny==1": []}


@pytest.fixture
def folder(write_run, proven):
    proofs = {"tiny": proven.yes, "flaky": proven.yes}
    return write_run(seconds=SECONDS, ends={"tiny==1": CaseEnded("oom", "x" * 900)}, proofs=proofs,
                     system={"cpu": "EPYC", "hostname": "here"})  # fmt: skip


@pytest.fixture
def client(tmp_path, monkeypatch):
    import mlflow

    before = mlflow.get_tracking_uri()
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "speed")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    yield mlflow.MlflowClient()
    mlflow.set_tracking_uri(before)


def test_a_run_and_its_cases_are_in_the_store(folder, client):
    summary = analyse(load_run(folder))
    where = send(summary, folder)
    experiment = client.get_experiment_by_name("speed")
    assert "of experiment speed at sqlite:" in where
    runs = client.search_runs([experiment.experiment_id])
    (whole,) = (run for run in runs if "mlflow.parentRunId" not in run.data.tags)
    assert whole.info.run_id in where
    assert whole.data.tags["mbench.run"] == folder.name
    assert whole.data.tags["mlflow.note.content"].splitlines()[0] == str(verdict_lines(summary)[0])
    assert whole.data.params == {"cpu": "EPYC", "hostname": "here", "os": "Linux"}
    files = {file.path for file in client.list_artifacts(whole.info.run_id)}
    assert files == {"report.html", "run.jsonl"}

    nested = {run.data.params["label"]: run for run in runs if run is not whole}
    assert {run.data.tags["mlflow.parentRunId"] for run in nested.values()} == {whole.info.run_id}
    for case in summary.cases:
        run = nested[case.label]
        assert run.data.tags["mbench.outcome"] == case.outcome
        assert run.data.params["batch_size"] == "8"
        if case.throughput:
            assert run.data.metrics["samples_per_second"] == case.throughput.value
            history = client.get_metric_history(run.info.run_id, "round_samples_per_second")
            rounds = [rate for process in case.throughput.rounds for rate in process]
            assert [point.value for point in sorted(history, key=lambda p: p.step)] == rounds
    flaky = nested["flaky"].data
    assert flaky.metrics["ratio"] == summary.comparisons[0].ratio
    assert flaky.tags["mbench.verdict"] == summary.comparisons[0].verdict
    assert flaky.tags["mbench.equal_work"] == "proven"
    assert nested["tiny==1"].info.status == "FAILED"
    assert "samples_per_second" not in nested["tiny==1"].data.metrics


def test_the_command_logs_and_says_where(folder, client):
    found = CliRunner().invoke(group, ["show", str(folder), "--log", "mlflow"])
    assert found.exit_code == 0, found.output
    assert "mbench: logged as run " in found.stderr
    again = CliRunner().invoke(group, ["show", str(folder), "--log", "mlflow"])
    assert again.exit_code == 0, "the experiment is there already"


def test_a_store_that_cannot_be_reached_is_one_line(folder, client, monkeypatch):
    import mlflow

    mlflow.set_tracking_uri("no-such-scheme://nowhere")
    with pytest.raises(MbenchError, match="MLflow does not accept the run") as caught:
        send(analyse(load_run(folder)), folder)
    assert "\n" not in str(caught.value)


def test_a_missing_extra_is_named(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(MbenchError, match=r"from mbench's extra mlflow: .* -m pip install 'alemb"):
        send(analyse(load_run(folder)), folder)


def test_an_unknown_outlet_is_refused_before_anything(folder):
    found = CliRunner().invoke(group, ["show", str(folder), "--log", "mlfow"])
    assert isinstance(found.exception, UsageError)
    assert "did you mean mlflow?" in str(found.exception)
