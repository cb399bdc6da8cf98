"""What `import mbench` gives to notebooks and scripts."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

import mbench
from mbench.api import execution
from mbench.measure import verification
from mbench.spec.arm import Arm
from mbench.spec.experiment import Checks, Sweep
from mbench.spec.presets import PRESETS

QUICK = {"models": "tiny-model", "threads": 1, "processes": 1, "rounds": 1, "block": 0.02,
         "mfu": False, "verify": False, "quiet": True}  # fmt: skip
SECONDS = {"tiny": [[0.1] * 3, [0.11] * 3, [0.1] * 3], "flaky": [[0.2] * 3, [0.21] * 3, [0.2] * 3]}


def test_only_what_is_public_is_seen():
    assert dir(mbench) == sorted([*mbench.__all__, "__version__"])
    for name in mbench.__all__:
        assert getattr(mbench, name).__doc__
    with pytest.raises(AttributeError, match="has no attribute 'comapre'"):
        mbench.comapre  # noqa: B018


def test_importing_it_imports_nothing_else():
    program = "import mbench, sys; print([m for m in sys.modules if m.startswith('mbench.')])"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.stdout == "[]\n", found.stderr


def test_a_comparison_is_a_value(tmp_path, capfd):
    result = mbench.compare(["tiny", "flaky"], **QUICK, results=tmp_path / "runs")
    assert result.ok
    assert result.folder.parent == tmp_path / "runs"
    (verdict,) = result.verdicts
    assert (verdict.framework, verdict.baseline, verdict.pairs) == ("flaky", "tiny", 1)
    assert verdict.verdict == "undetermined"
    assert verdict.case["model"] == "tiny-model"
    assert result.document["command"][:3] == ["mbench", "compare", "--frameworks=tiny,flaky"]
    assert "--quiet" in result.document["command"]
    assert mbench.read(result.folder) == result
    assert capfd.readouterr() == ("", "")


def test_one_framework_and_a_case_that_falls_short(tmp_path, monkeypatch, capfd):
    assert mbench.run("tiny", **QUICK).verdicts == ()
    assert not mbench.run("tiny", **{**QUICK, "precision": "fp16"}).ok
    with pytest.raises(mbench.UsageError, match="unknown framework or suite 'tinny'"):
        mbench.run("tinny")
    with pytest.raises(mbench.UsageError, match="compare needs two or more frameworks"):
        mbench.compare("tiny")


def test_proofs_are_values():
    proofs = mbench.verify("tiny", models="tiny-model", precision=["fp32", "fp16"], threads=1)
    good, bad = proofs.proofs
    assert (good.framework, good.outcome, good.proven, good.reason) == ("tiny", "ok", True, "")
    assert good.case["precision"] == "fp32"
    assert (bad.outcome, bad.proven) == ("unsupported", False)
    assert bad.reason
    assert not proofs.ok
    assert "tiny-model" in repr(proofs)
    assert "tiny-model" in proofs._repr_html_()


def test_a_run_is_continued_by_its_name_or_as_an_experiment(tmp_path):
    runs = tmp_path / "runs"
    first = mbench.compare(["tiny", "flaky"], **QUICK, results=runs)
    more = {"results": runs, "quiet": True}
    second = mbench.compare(resume=first.folder.name, processes=2, **more)
    assert second.folder == first.folder
    assert [verdict.pairs for verdict in second.verdicts] == [2]
    asked = mbench.Experiment.from_run(first.folder)
    asked = replace(asked, protocol=replace(asked.protocol, processes=3))
    third = asked.run(resume=first.folder.name, **more)
    assert [verdict.pairs for verdict in third.verdicts] == [3]
    with pytest.raises(mbench.UsageError, match="leave out models"):
        mbench.compare(resume=first.folder.name, models="tiny-model", **more)


def test_an_interrupt_hands_over_what_there_is(write_run, monkeypatch):
    folder = write_run(seconds=SECONDS, status="interrupted")
    store = SimpleNamespace(folder=folder, id=folder.name)
    monkeypatch.setattr(execution, "carry_out", lambda *_: (store, True))
    with pytest.raises(mbench.Interrupted, match=f"resume='{folder.name}'") as stop:
        mbench.compare(["tiny", "flaky"], models="tiny-model")
    assert isinstance(stop.value, KeyboardInterrupt)
    assert stop.value.result == mbench.read(folder)
    assert not stop.value.result.ok


def test_an_interrupted_proof_goes_on_by_the_same_call(monkeypatch):
    ended = verification.Verification([], True)
    monkeypatch.setattr(execution, "verify", lambda *_, **__: ended)
    with pytest.raises(mbench.Interrupted, match="the same call continues") as stop:
        mbench.verify("tiny", models="tiny-model")
    assert stop.value.result.proofs == ()
    assert not stop.value.result.ok


def test_a_run_is_repeated(tmp_path):
    first = mbench.compare(["tiny", "flaky:threads=1"], **QUICK, results=tmp_path / "runs")
    experiment = mbench.Experiment.from_run(first.folder)
    assert mbench.Experiment.from_json(experiment.to_json()) == experiment
    assert experiment.launch.device == "cpu"
    again = experiment.run(results=tmp_path / "runs", quiet=True)
    assert again.folder != first.folder
    assert mbench.Experiment.from_run(again.folder) == experiment
    labels = [[case["label"] for case in one.document["cases"]] for one in (first, again)]
    assert labels[0] == labels[1]


def test_an_experiment_is_built_by_hand(tmp_path):
    experiment = mbench.Experiment(
        arms=(Arm("tiny"),),
        sweeps=(Sweep(axes={"model": ("tiny-model",), "batch_size": (4, 8)}),),
        protocol=PRESETS["dlperf"],
        checks=Checks(verify=False, mfu=False),
    )
    experiment = replace(experiment, protocol=replace(experiment.protocol, processes=1, steps=2))
    result = experiment.run(results=tmp_path, quiet=True)
    assert [case["batch_size"] for case in result.document["cases"]] == [4, 8]
    with pytest.raises(mbench.UsageError, match="unknown framework 'tinny'"):
        replace(experiment, arms=(Arm("tinny"),)).run(results=tmp_path)
    with pytest.raises(mbench.UsageError, match="not an experiment: experiment lacks 'arms'"):
        mbench.Experiment.from_json("{}")
    with pytest.raises(mbench.UsageError, match="not an experiment: Expecting value"):
        mbench.Experiment.from_json("")
