"""Which steps the acceptance runs in which setting, and that mbench has the options they use."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner
from fake_nvml import FakeGpu, FakeNvml

from mbench.cli.main import group
from mbench.machine import nvml
from mbench.plugins.manager import Plugins


def every(setting):
    from acceptance import breadth, nine, refusals

    return [step for module in (nine, breadth, refusals) for step in module.steps(setting)]


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
    context = click.Context(group, obj=Plugins(external=False))
    for step in every(setting(frameworks=("torch", "jax"), names=("torch", "jax"))):
        if step.program[:2] != ("-m", "mbench"):
            continue
        name, *arguments = step.program[2:]
        if step.budget is not None:
            arguments += ["--budget", "20"]
        command = group.get_command(context, name)
        known = {option for parameter in command.params
                 for option in (*parameter.opts, *parameter.secondary_opts)}  # fmt: skip
        given = {word for word in arguments if word.startswith("--")}
        assert given <= known, step.name


def test_what_is_measured_on_a_gpu_can_be_planned(setting, monkeypatch, tmp_path):
    monkeypatch.setattr(nvml, "initialised", lambda: FakeNvml(FakeGpu()))
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
