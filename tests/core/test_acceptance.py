"""The acceptance, benchmarks/cuda.py: its time, its steps, its verdicts and what it writes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fake_nvml import FakeGpu, FakeNvml

from mbench.cli import group
from mbench.plugins import Plugins
from mbench.telemetry import nvml

ROOT = Path(__file__).parent.parent.parent
BENCHMARKS = ROOT / "benchmarks"
PROGRAM = BENCHMARKS / "cuda.py"


@pytest.fixture(scope="module", autouse=True)
def importable():
    """Its package lies beside the program, as Python finds it where the program is run."""
    sys.path.insert(0, str(BENCHMARKS))
    yield
    sys.path.remove(str(BENCHMARKS))


@pytest.fixture
def make():
    """A step that runs some Python."""
    from acceptance.judges import probed
    from acceptance.step import Step

    def make(name: str, code: str = "print('{\"told\": 1}')", **changed: Any) -> Any:
        usual = {
            "phase": "nine", "about": f"does {name}", "program": ("-c", code), "judge": probed,
            "seconds": 20.0, "least": 0.1,
        }  # fmt: skip
        return Step(name=name, **{**usual, **changed})

    return make


@pytest.fixture
def conduct(tmp_path):
    """Goes through steps; gives whether it came to their end, and the record."""
    from acceptance.conduct import Conductor
    from acceptance.limits import Clock
    from acceptance.record import Record

    def conduct(steps, *, seconds=None, before=None, grace=5.0):
        conductor = Conductor(python=sys.executable, folder=tmp_path, mark=os.urandom(8).hex(),
                              grace=grace)  # fmt: skip
        record = Record(folder=tmp_path, command="cuda.py", setting={"device": "cpu"}, machine={},
                        versions={"numpy": "2"})  # fmt: skip
        return conductor.go(steps, record, Clock(seconds), before or {}), record

    return conduct


@pytest.fixture
def setting():
    from acceptance.setting import Setting

    def setting(**given):
        device, frameworks = given.get("device", "cuda"), given.get("frameworks", ("torch",))
        offered = ["fp32", "amp-bf16", "bf16"]
        offered += ["tf32", "amp-fp16", "fp16"] if device == "cuda" else []
        models = {"resnet50": offered, "bert-base": offered}
        usual = {
            "device": "cuda", "frameworks": ("torch",), "names": ("torch",),
            "models": ("resnet50", "bert-base"), "absent": ("tf",), "gpu_uuid": "GPU-3f0c1d2e-1-2",
            "supported": dict.fromkeys(frameworks, models),
            "sizes": {"resnet50": ["image_size"], "bert-base": ["sequence_length"]},
        }  # fmt: skip
        return Setting(**{**usual, **given})

    return setting


def every(setting):
    from acceptance import breadth, nine, refusals

    return [step for module in (nine, breadth, refusals) for step in module.steps(setting)]


def ended(**given):
    from acceptance.step import Ended

    usual = {"returncode": 0, "seconds": 1.0, "stopped": False, "interrupted": False, "said": ""}
    return Ended(**{**usual, **given})


def case(**given):
    usual = {
        "framework": "torch", "label": "torch", "outcome": "ok", "reason": "", "model": "m",
        "mode": "train", "batch_size": 8, "precision": "fp32", "compiler": "eager",
    }  # fmt: skip
    return {**usual, **given}


def test_limits_shrink_alike_where_time_is_short_and_what_is_left_goes_on(make):
    from acceptance.limits import GRACE, limit_of

    steps = [make("a", seconds=100.0), make("b", seconds=100.0)]
    assert limit_of(steps, None) == 100
    assert limit_of(steps, 1000) == 100
    assert limit_of(steps, 100 + GRACE) == pytest.approx(50)
    assert limit_of(steps[1:], 90 + GRACE) == pytest.approx(90)
    later = [make("a", seconds=100.0), make("b", seconds=100.0, phase="breadth")]
    assert limit_of(later, 150 + GRACE) == pytest.approx(100)


def test_a_step_gets_its_least_or_does_not_begin(make):
    from acceptance.limits import GRACE, limit_of

    steps = [make("a", seconds=100.0, least=10), make("b", seconds=900.0)]
    assert limit_of(steps, 20 + GRACE) == 10
    assert limit_of(steps, 5 + GRACE) is None


def test_steps_pass_fail_run_out_of_time_and_are_skipped_with_a_reason(make, conduct, tmp_path):
    endless = "import time; print('{\"half\": 1}', flush=True); time.sleep(60)"
    complete, record = conduct([
        make("well"),
        make("wrong", "import sys; sys.exit('no such thing')"),
        make("elsewhere", skip="needs a GPU"),
        make("endless", endless, seconds=0.5),
    ])  # fmt: skip
    assert complete
    found = {one.name: one for one in record.results}
    assert [one.outcome for one in record.results] == ["passed", "failed", "skipped", "out of time"]
    assert found["wrong"].reason == "exit code 1: no such thing"
    assert found["elsewhere"].reason == "needs a GPU"
    assert "limit of 0 s" in found["endless"].reason or "limit of 1 s" in found["endless"].reason
    assert found["endless"].returncode == -signal.SIGINT or found["endless"].returncode == 1
    assert found["endless"].figures == {"probe": {"half": 1}}
    assert not record.well
    written = json.loads((tmp_path / "acceptance.json").read_text())
    assert [one["name"] for one in written["results"]] == list(found)
    assert not list(tmp_path.glob("*.new"))


def test_no_step_begins_without_time(make, conduct):
    _, record = conduct([make("late", least=10.0)], seconds=12.0)
    assert record.results[0].outcome == "out of time"
    assert "takes 10 s or more" in record.results[0].reason
    assert not record.well


def test_what_ignores_its_limit_is_killed(make, conduct):
    code = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(60)"
    begin = time.monotonic()
    _, record = conduct([make("deaf", code, seconds=1.0)], grace=0.5)
    assert time.monotonic() - begin < 20
    assert record.results[0].outcome == "out of time"
    assert record.results[0].returncode == -signal.SIGKILL


def test_what_a_step_leaves_behind_is_killed_and_told(make, conduct, monkeypatch):
    from acceptance import child

    monkeypatch.setattr(child.sweep, "__kwdefaults__", {"seconds": 0.3})
    code = (
        "import subprocess, sys; print('{\"told\": 1}')\n"
        "left = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'],"
        " start_new_session=True); left.returncode = 0"
    )
    _, record = conduct([make("litter", code)])
    assert record.results[0].outcome == "failed"
    assert "processes were left and killed" in record.results[0].reason
    assert "time.sleep(60)" in record.results[0].reason


def test_what_has_passed_is_not_done_again(make, conduct):
    _, record = conduct([make("well")])
    (passed,) = record.results
    _, again = conduct([make("well", "raise SystemExit(3)"), make("new")], before={"well": passed})
    assert [one.outcome for one in again.results] == ["passed", "passed"]
    assert again.results[0] == passed


def test_resuming_reads_what_was_written(make, conduct, tmp_path):
    from acceptance.record import load

    assert load(tmp_path) == {}
    _, record = conduct([make("well")])
    assert load(tmp_path) == {"well": record.results[0]}
    (tmp_path / "acceptance.json").write_text("[]")
    with pytest.raises(ValueError, match="no record"):
        load(tmp_path)


@pytest.mark.parametrize("resumed", [False, True])
def test_ctrl_c_stops_the_step_and_keeps_what_there_is(tmp_path, resumed):
    code = f"""
import sys; sys.path.insert(0, {str(BENCHMARKS)!r})
import cuda
from acceptance.judges import probed
from acceptance.step import Step
def of(name, code, phase="nine"):
    return Step(name=name, phase=phase, about=name, program=("-c", code), judge=probed, seconds=60)
cuda.nine.steps = lambda setting: [
    of("well", "print('{{}}'.format('{{\\"told\\": 1}}'))"),
    of("long", "import time; print('{{\\"half\\": 1}}', flush=True); time.sleep(60)"),
    of("later", ""),
]
from acceptance.conduct import Conductor
Conductor.look = lambda *_: {{
    "names": {{"torch": "torch"}}, "sizes": {{"m": []}}, "supported": {{}}, "absent": [],
    "gpu": None, "on_gpu": None, "machine": {{}}, "versions": {{}},
}}
sys.exit(cuda.main())
"""
    command = [sys.executable, "-c", code, "--device", "cpu", "--output", str(tmp_path),
               *(["--resume"] if resumed else [])]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    report = tmp_path / "steps" / "long.json"
    until = time.monotonic() + 30
    while not (report.exists() and report.read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130, said
    found = json.loads((tmp_path / "acceptance.json").read_text())
    assert found["status"] == "interrupted"
    outcomes = {one["name"]: (one["outcome"], one["reason"]) for one in found["results"]}
    assert outcomes["well"][0] == "passed"
    assert outcomes["long"][0] == "skipped"
    assert outcomes["long"][1].startswith("interrupted after")
    assert outcomes["later"] == ("skipped", "interrupted before")
    assert outcomes["nothing left"][0] == "passed"
    (long,) = [one for one in found["results"] if one["name"] == "long"]
    assert long["figures"] == {"probe": {"half": 1}}


def test_profilers_that_tell_no_kernels_fail_unless_there_are_none():
    from acceptance.figures import figures_of
    from acceptance.judges import tells

    def document(*frameworks):
        return {"kernels": [
            {"label": label, "reason": reason, "libraries": {"CUDA": ""}, "kernels": [
                {"primitive": "kernel", "implementation": name, "count": 2, "milliseconds": at}
                for at, name in enumerate(names)]}
            for label, reason, names in frameworks
        ], "cases": [{"label": label} for label, *_ in frameworks]}  # fmt: skip

    def outcome(*frameworks, judged=True):
        return tells(judged=judged)(ended(), document(*frameworks))

    well, none = ("torch", "", ["a", "b"]), ("mxnet", "unsupported: it has none", [])
    assert outcome(well, well).outcome == "passed"
    passed = outcome(well, none)
    assert (passed.outcome, passed.reason) == ("passed", "mxnet: unsupported: it has none")
    for wrong in ([none], [well, ("tf", "failed: no trace", [])], [well, ("tf", "", [])], []):
        assert outcome(*wrong).outcome == "failed"
    assert outcome(("tf", "", []), judged=False).outcome == "passed"
    assert figures_of(document(well)) == {"cases": [], "kernels": [
        {"name": "torch", "reason": "", "libraries": {"CUDA": ""}, "calls": {"kernel": 4},
         "longest": ["b", "a"]}]}  # fmt: skip


def test_steps_of_the_gpu_are_skipped_on_the_cpu_and_the_others_made_small(setting):
    steps = {step.name: step for step in every(setting(device="cpu"))}
    assert steps["gauges"].skip == "needs a GPU"
    assert steps["too large"].skip == "needs a GPU"
    assert not steps["verify"].skip
    assert "tf32" not in " ".join(steps["verify"].program)
    program = steps["calibrate"].program
    assert program[program.index("--image-size") + 1] == "64"
    assert "--sequence-length" not in program
    assert "--sequence-length" in steps["inference"].program


def test_a_gpu_has_all_precisions_and_sizes_as_they_are(setting):
    steps = {step.name: step for step in every(setting())}
    assert "fp32,tf32,amp-fp16,amp-bf16" in steps["verify"].program
    assert not [step.name for step in steps.values() if "--image-size" in step.program
                and step.program[0] == "-m"]  # fmt: skip
    assert steps["abbreviated UUID"].variables == {"CUDA_VISIBLE_DEVICES": "GPU-3f0c1d2e"}
    assert steps["compare fp32"].skip == "needs two frameworks"
    assert steps["no environment"].program.count("torch,tf") == 1


def test_steps_of_other_frameworks_say_what_they_need(setting):
    steps = {step.name: step for step in every(setting(frameworks=("jax",), names=("jax",)))}
    assert not steps["headline train"].skip
    assert steps["bare"].skip == "needs torch"
    assert steps["verify inductor"].skip == "needs torch"
    assert "jax,jax" in steps["same"].program
    assert steps["kernels"].program[2:5] == ("explain", "jax", "jax")


def test_what_an_adapter_does_not_offer_is_left_out(setting):
    given = {"frameworks": ("tiny",), "names": ("tiny",), "models": ("tiny-model",)}
    whole = setting(**given, sizes={}, supported={"tiny": {"tiny-model": ["fp32", "fp64"]}})
    steps = {step.name: step for step in every(whole)}
    for name in ("verify", "calibrate", "inference", "same", "four", "largest batch"):
        program = steps[name].program
        assert program[program.index("--precision") + 1] == "fp32"
    assert steps["headline train"].skip == "needs resnet50 in amp-fp16"
    assert steps["NVIDIA_TF32_OVERRIDE=0"].skip == "needs TF32"
    assert not steps["too large"].skip


def test_frameworks_are_compared_in_the_precisions_that_they_share(setting):
    models = {"resnet50": ["fp32", "tf32"], "bert-base": ["fp32", "tf32"]}
    supported = {"torch": models, "jax": {**models, "bert-base": ["fp32"]}}
    both = setting(frameworks=("torch", "jax"), names=("torch", "jax"), supported=supported)
    names = {step.name for step in every(both) if not step.skip}
    assert {name for name in names if name.startswith("compare")} == {"compare fp32"}


def test_names_of_steps_are_single_and_phases_known(setting):
    from acceptance.step import PHASES

    steps = every(setting())
    assert len({step.name for step in steps}) == len(steps)
    assert {step.phase for step in steps} == set(PHASES)


@pytest.mark.parametrize(
    ("minutes", "named", "phases"),
    [(9.0, None, {"nine"}), (25.0, None, {"nine", "breadth", "refusals"}),
     (None, None, {"nine", "breadth", "refusals"}), (9.0, ("refusals",), {"refusals"}),
     (9.0, ("doctor", "same"), {"nine", "breadth"})],
)  # fmt: skip
def test_minutes_or_names_choose_the_steps(setting, minutes, named, phases):
    import cuda

    assert {step.phase for step in cuda.chosen(setting(), minutes=minutes, named=named)} == phases


def test_a_step_that_is_none_is_refused(setting):
    import cuda

    with pytest.raises(ValueError, match="no step is called 'docter'"):
        cuda.chosen(setting(), minutes=9.0, named=("docter",))


def test_every_option_that_steps_give_is_one_of_the_command(setting):
    commands = Plugins(external=False).commands
    for step in every(setting(frameworks=("torch", "jax"), names=("torch", "jax"))):
        if step.program[:2] != ("-m", "mbench"):
            continue
        name, *arguments = step.program[2:]
        if step.budget is not None:
            arguments += ["--budget", "20"]
        command = commands.get(name)
        known = {option for parameter in command.params
                 for option in (*parameter.opts, *parameter.secondary_opts)}  # fmt: skip
        given = {word for word in arguments if word.startswith("--")}
        assert given <= known, step.name


def test_what_is_measured_on_a_gpu_can_be_planned(setting, monkeypatch, tmp_path):
    monkeypatch.setattr(nvml, "begun", lambda: FakeNvml(FakeGpu()))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.chdir(tmp_path)
    planned = 0
    for step in every(setting(frameworks=("torch", "tf"), names=("torch", "tf"))):
        if not step.skip and ("run" in step.program or "compare" in step.program):
            command = [*step.program[2:], "--budget", "20", "--dry-run"]
            found = CliRunner().invoke(group, command, obj=Plugins(external=False))
            assert found.exit_code == 0, (step.name, found.output)
            planned += 1
    assert planned > 10


@pytest.fixture
def made_up_gpu(monkeypatch):
    """What a program of ours prints on a machine with a GPU."""

    def printed(module, capsys, *arguments):
        monkeypatch.setattr(nvml, "begun", lambda: FakeNvml(FakeGpu()))
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        monkeypatch.setattr(sys, "argv", [module.__name__, *arguments])
        module.main()
        return json.loads(capsys.readouterr().out)

    return printed


def test_gauges_tell_how_long_a_look_takes(made_up_gpu, capsys):
    from acceptance import gauges
    from acceptance.figures import figures_of

    found = made_up_gpu(gauges, capsys, "--looks", "3")
    assert found["gpu"]["name"] == "NVIDIA Made-Up 100"
    assert 0 < found["look_ms"]["median"] <= found["look_ms"]["highest"]
    assert figures_of(found) == {"probe": found}


def test_a_look_at_the_machine_tells_its_gpu_and_what_adapters_offer_on_it(made_up_gpu, capsys):
    from acceptance import look

    asked = ("--frameworks", "torch", "--models", "bert-base,resnet18", "--device", "cuda")
    found = made_up_gpu(look, capsys, *asked)
    assert found["gpu"]["uuid"] == "GPU-0a2b3c4d-0000"
    assert found["on_gpu"] == []
    assert found["names"] == {"torch": "torch"}
    assert found["sizes"] == {"bert-base": ["predictions", "sequence_length"],
                              "resnet18": ["image_size"]}  # fmt: skip
    assert set(found["supported"]["torch"]) == {"bert-base", "resnet18", "resnet50"}
    assert {"tf32", "amp-fp16"} <= set(found["supported"]["torch"]["bert-base"])
    assert "mxnet" in found["absent"]


@pytest.mark.parametrize(
    ("cells", "outcome", "reason"),
    [
        ([case()], "passed", ""),
        ([case(), case(precision="tf32", outcome="unsupported", reason="CPU")], "passed",
         "torch m train 8 tf32 eager: unsupported: CPU"),
        ([case(outcome="unsupported", reason="no GPU")], "failed",
         "torch m train 8 fp32 eager: unsupported: no GPU"),
        ([case(), case(framework="jax", label="jax", outcome="unsupported", reason="no")], "failed",
         "jax m train 8 fp32 eager: unsupported: no"),
        ([case(), case(outcome="not-equal", reason="off")], "failed",
         "torch m train 8 fp32 eager: not-equal: off"),
        ([case(), case(outcome="timeout", reason="no round")], "out of time",
         "torch m train 8 fp32 eager: timeout: no round"),
        ([], "failed", "nothing was measured: last words"),
    ],
)  # fmt: skip
def test_cells_are_well_or_refused(cells, outcome, reason):
    from acceptance.judges import measured

    found = measured(ended(returncode=1, said="last words"), {"cases": cells})
    assert (found.outcome, found.reason) == (outcome, reason)


@pytest.mark.parametrize(
    ("ratio", "low", "high", "outcome"),
    [(1.02, 0.99, 1.05, "passed"), (1.005, 1.001, 1.009, "passed"), (1.05, 1.02, 1.08, "failed"),
     (None, None, None, "failed")],
)  # fmt: skip
def test_the_ratio_of_the_same_is_one(ratio, low, high, outcome):
    from acceptance.judges import same

    found = {"calibrations": [{"ratio": ratio, "low": low, "high": high, "reason": "none"}]}
    assert same(judged=True)(ended(), found).outcome == outcome
    assert same(judged=False)(ended(), found).outcome == ("passed" if ratio else "failed")


@pytest.mark.parametrize(
    ("ratio", "high", "outcome"),
    [(0.999, 1.0, "passed"), (0.993, 0.996, "passed"), (0.98, 0.99, "failed"),
     (0.98, None, "failed")],
)  # fmt: skip
def test_mbench_may_cost_half_a_percent(ratio, high, outcome):
    from acceptance.judges import close

    found = {"ratios": [{"framework": "torch", "ratio": ratio, "low": None, "high": high}]}
    assert close(within=0.005, judged=True)(ended(), found).outcome == outcome
    assert close(within=0.005, judged=False)(ended(), found).outcome == "passed"


def test_what_should_fall_short_passes_if_it_does_by_name():
    from acceptance.judges import goes_on_without, refused

    short = case(outcome="oom", reason="CUDA out of memory")
    assert refused(["oom"])(ended(returncode=1), {"cases": [short]}).outcome == "passed"
    assert refused(["oom"], "device")(ended(returncode=1), {"cases": [short]}).outcome == "failed"
    assert refused(["oom"])(ended(returncode=0), {"cases": [case()]}).outcome == "failed"
    assert refused(["oom"])(ended(returncode=2, said="what?"), None).outcome == "failed"
    lost = case(framework="tf", label="tf", outcome="failed", reason="is not installed here")
    without = goes_on_without("tf")
    assert without(ended(returncode=1), {"cases": [case(), lost]}).outcome == "passed"
    assert without(ended(returncode=1), {"cases": [short, lost]}).outcome == "failed"
    assert without(ended(returncode=0), {"cases": [case()]}).outcome == "failed"


def test_doctor_must_see_the_gpu():
    from acceptance.judges import finds_gpu

    checks = [{"name": "GPU", "status": "ok", "found": "H100 at 0000:3b:00.0"}]
    assert finds_gpu(ended(), {"checks": checks}).outcome == "passed"
    assert finds_gpu(ended(), {"checks": []}).outcome == "failed"


def test_reports_are_one_document_or_one_a_line(tmp_path):
    from acceptance.figures import read

    report = tmp_path / "report.json"
    for text, found in (
        ('{\n "a": 1\n}\n', {"a": 1}), ('{"a": 1}\n{"a": 2}\n{"a"', {"a": 2}), ("words", None),
        ("", None),
    ):  # fmt: skip
        report.write_text(text)
        assert read(report) == found


def test_figures_of_a_run_are_those_of_its_document(document):
    from acceptance.figures import cells_of, figures_of

    whole = document(seconds={"tiny": [[0.1] * 3] * 3, "flaky": [[0.1] * 3] * 3})
    found = figures_of(whole)
    assert len(found["cases"]) == len(cells_of(whole)) == 2
    assert found["cases"][0]["value"] == pytest.approx(800)
    assert found["cases"][0]["peak_memory_bytes"] == 100 * 2**20
    assert found["comparisons"][0]["ratio"] == pytest.approx(1)
    assert found["status"] == "complete"


def test_proofs_tell_the_worst_error_of_each_check():
    from acceptance.figures import figures_of

    def finding(check, error, gate=1e-9):
        return {"check": check, "error": error, "gate": gate, "where": "w", "passed": True}

    made = {"findings": [finding("outputs", 1e-12), finding("outputs", 1e-10),
                         finding("flops", None)], "worst": 1e-7, "grade": "proven"}  # fmt: skip
    (found,) = figures_of({"proofs": [case(proof=made)]})["proofs"]
    assert found["checks"][0] == {"check": "outputs", "error": 1e-10, "gate": 1e-9, "where": "w"}
    assert len(found["checks"]) == 2


def test_the_page_shows_steps_figures_and_commands(make, conduct, document, tmp_path):
    from acceptance.figures import figures_of
    from acceptance.page import page_of
    from acceptance.record import Record, Result

    whole = document(seconds={"tiny": [[0.1] * 3] * 3, "flaky": [[0.1] * 3] * 3})
    proof = {"findings": [{"check": "timed", "error": 2e-7, "gate": 1e-5, "where": ""}]}
    common = {"phase": "nine", "about": "it does", "outcome": "passed"}
    record = Record(
        folder=tmp_path, command="cuda.py", setting={"device": "cuda"}, versions={"torch": "2"},
        machine={"gpus": [{"name": "H100", "uuid": "GPU-1"}]},
    )  # fmt: skip
    record.results = [
        Result(name="compare", **common, reason="a | b", command="mbench compare tiny tiny",
               figures=figures_of(whole)),
        Result(name="verify", **common, reason="", command="mbench verify tiny",
               figures=figures_of({"proofs": [case(proof=proof)]})),
        Result(name="gauges", **common, reason="", command="gauges",
               figures=figures_of({"look_ms": {"median": 1.25}, "ramp": [[1.0, 1980]]})),
    ]  # fmt: skip
    page = page_of(record.document())
    assert "3 passed, 0 failed" in page
    assert "a \\| b" in page
    assert "| compare | flaky / tiny" in page
    assert "it does; 800.0 samples/s, 800.0 samples/s, ratio 1.0000 (1.0000 .. 1.0000); a" in page
    assert "timed 2.0e-07 of 1e-05" in page
    assert "| gauges | look_ms median | 1.25 |" in page
    assert "name H100, uuid GPU-1" in page
    assert "verify: mbench verify tiny" in page


def test_wheels_that_are_brought_have_the_versions_of_the_project():
    from acceptance.prepare import BROUGHT, commands

    *wheels, download = commands(Path("wheels"), target="3.12")
    assert [str(ROOT), str(ROOT / "adapters" / "jax")] == [wheels[0][-1], wheels[1][-1]]
    assert len([word for word in download if word.startswith(BROUGHT)]) == len(BROUGHT)
    assert any(word.startswith("click>=") for word in download)
    assert download[download.index("--python-version") + 1] == "3.12"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--frameworks", "tinny"], "unknown framework 'tinny'"),
     (["--models", "tiny-modle"], "unknown model"), (["--minutes", "soon"], "--minutes"),
     (["--steps", "docter"], "no step is called 'docter'"),
     (["--python", "/no/such/python"], "does not run mbench")],
)  # fmt: skip
def test_a_wrong_command_line_ends_with_2(tmp_path, arguments, said):
    tiny = ["--device", "cpu", "--frameworks", "tiny", "--models", "tiny-model"]
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *tiny, "--output", str(tmp_path), *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert said in done.stderr


@pytest.mark.extras
def test_it_is_rehearsed_on_the_cpu(tmp_path):
    done = subprocess.run(
        [sys.executable, str(PROGRAM), "--device", "cpu", "--minutes", "2", "--frameworks", "tiny",
         "--models", "tiny-model", "--output", str(tmp_path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "acceptance.json").read_text())
    assert found["status"] == "complete"
    outcomes = {one["name"]: one["outcome"] for one in found["results"]}
    assert {name for name, outcome in outcomes.items() if outcome == "skipped"} == {
        "gauges",
        "bare",
    }
    assert set(outcomes.values()) == {"passed", "skipped"}
    figures = {one["name"]: one["figures"] for one in found["results"]}
    assert figures["verify"]["proofs"][0]["checks"]
    assert figures["calibrate"]["calibrations"][0]["ratio"] > 0
    assert figures["inference"]["cases"][0]["value"] > 0
    assert figures["start"]["probe"]["start_seconds"] > 0
    assert "tiny-model" in (tmp_path / "acceptance.md").read_text()
