"""An experiment as plain data: it is written, read back and compared."""

from __future__ import annotations

import json

import pytest

from mbench.contract.reading import Malformed
from mbench.errors import UsageError
from mbench.results.encoding import plain
from mbench.spec.arm import Arm
from mbench.spec.experiment import Checks, Experiment, Launch, Sweep, from_plain
from mbench.spec.fixed_steps import Counted
from mbench.spec.presets import PRESETS

EXPERIMENT = Experiment(
    arms=(Arm("torch"), Arm("torch@/a::b/python:inductor:A=1,2")),
    sweeps=(
        Sweep(
            axes={"model": ("resnet*", "zoo"), "batch_size": (8, "max"), "clip": (False,)},
            sizes={"image_size": 96},
        ),
        Sweep(axes={"model": ("vgg11",)}, operators=True, amp=True),
    ),
    protocol=PRESETS["nvidia"],
    launch=Launch(launcher="mpi", hosts="a,b", device="cuda", threads=4, timeout_seconds=3.0),
    checks=Checks(verify=False, mfu=False),
)


@pytest.mark.parametrize("experiment", [EXPERIMENT, Experiment(arms=(Arm("torch"),))])
def test_what_is_written_is_read_back(experiment):
    assert from_plain(json.loads(json.dumps(plain(experiment)))) == experiment


def test_an_arm_is_written_as_its_text():
    assert plain(EXPERIMENT)["arms"] == ["torch", "torch@/a::b/python:inductor:A=1,2"]


@pytest.mark.parametrize(
    ("part", "wrong", "said"),
    [
        ("arms", [], "give a framework"),
        ("arms", "torch", "arms should be a list of strings"),
        ("arms", [":"], "empty setting"),
        ("sweeps", [], "needs a sweep"),
        ("sweeps", [{"axes": {"colour": ["red"]}}], "unknown axis 'colour'"),
        ("sweeps", [{"axes": {"model": []}}], "the axis model has no values"),
        ("sweeps", [{"axes": {"model": [1.5]}}], "should be str | int | bool"),
        ("protocol", {"name": "nvidea"}, "no protocol is called"),
        ("protocol", {"name": "nvidia", "steps": 1, "warmup_epochs": 1}, "leave none to time"),
        ("launch", {"threads": "many"}, "threads should be int"),
    ],
)
def test_what_is_none_is_refused(part, wrong, said):
    body = {**plain(EXPERIMENT), part: wrong}
    with pytest.raises((Malformed, UsageError)) as caught:
        from_plain(json.loads(json.dumps(body)))
    assert said in str(caught.value)


def test_a_protocol_is_of_its_own_kind():
    found = from_plain(plain(EXPERIMENT))
    assert isinstance(found.protocol, Counted)
    assert found.protocol.step_by_step == ("inference",)
