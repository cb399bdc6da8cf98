"""What is checked and reported before anything is downloaded, proven or measured."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fake_nvml import FakeGpu, FakeNvml
from support.experiments import asked

from mbench.engine import machines
from mbench.errors import UsageError
from mbench.machine import nvml
from mbench.measure import preflight
from mbench.measure.preflight import Checked, check, check_device, fitting
from mbench.spec.build import protocol_of
from mbench.spec.planning import plan


@pytest.fixture
def checked(plugins):
    """A function that returns an experiment of two frameworks, planned but not yet checked."""

    def checked(*, device="cpu", threads=1, steadiness="usual", **options):
        wanted = {"model": ("tiny-model",), "steadiness": ("usual", steadiness)}
        experiment = asked(
            frameworks=("tiny", "flaky"), wanted=wanted, device=device, threads=threads
        )
        experiment = replace(experiment, protocol=protocol_of(options))
        return Checked(
            experiment=experiment, comparisons=tuple(plan(experiment, plugins)), launcher=None
        )

    return checked


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, None),
        ({"processes": 3, "budget": 30.0}, None),
        ({"budget": 50.0}, None),
        ({"budget": 49.0},
         "a budget of 49 s for 10 workers (5 processes of 2 cases) leaves each 4.9 s"),
        ({"budget": 1.0, "rounds": 2}, None),
        ({"protocol": "dlperf"}, None),
    ],
)  # fmt: skip
def test_a_budget_that_is_hopeless_is_doubted(checked, options, said):
    found = check(checked(**options))
    assert len(found) == (said is not None)
    for line in found:
        assert line.startswith(said)
        assert line.endswith("give --budget 160, or fewer --processes")


def test_a_budget_that_does_not_hold_its_rounds_is_refused(checked):
    with pytest.raises(UsageError, match=r"too small for their 3 rounds: give --budget 160, or fe"):
        check(checked(budget=10.0))


def test_more_threads_than_run_at_once_are_told(checked, monkeypatch):
    monkeypatch.setattr(machines, "hardware_threads", lambda: 2)
    assert check(checked(threads=2)) == []
    (line,) = check(checked(threads=64))
    assert line.startswith("64 threads wait for each other on a machine, which runs 2 at once")
    assert "give --threads 2 or fewer" in line


def test_cuda_without_a_driver_ends_before_anything_begins(checked, monkeypatch):
    monkeypatch.setattr(nvml, "initialised", lambda: None)
    with pytest.raises(UsageError, match="no NVIDIA GPU is visible") as caught:
        check_device("cuda", machines.machines(None))
    assert caught.value.option == "--device"
    monkeypatch.setattr(nvml, "initialised", FakeNvml)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    check_device("cuda", machines.machines(None))
    assert check(checked(device="cuda")) == []


def test_steady_workers_are_refused_where_they_cannot_be(checked, monkeypatch):
    monkeypatch.setattr(machines, "limitation", lambda: "it is not allowed here")
    assert check(checked()) == []
    with pytest.raises(UsageError, match="--steady: it is not allowed here"):
        check(checked(steadiness="steady"))
    elsewhere = machines.describe_machine()
    monkeypatch.setattr(machines, "limitation", lambda: "")
    assert check(checked(steadiness="steady")) == []
    there = {"a": machines.describe_machine(), "b": elsewhere}
    with pytest.raises(UsageError, match="--steady: b: it is not allowed here"):
        preflight.check_steadiness(checked(steadiness="steady"), there)


def test_frameworks_cannot_stand_side_by_side_on_a_gpu_for_one(monkeypatch):
    monkeypatch.setattr(nvml, "initialised", lambda: FakeNvml(FakeGpu(0, GetComputeMode=3)))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    there = {"b": machines.describe_machine()}
    preflight.check_sharing("cuda", 1, there, side_by_side=True)
    preflight.check_sharing("cuda", 4, there, side_by_side=False)
    preflight.check_sharing("cpu", 4, there, side_by_side=True)
    with pytest.raises(
        UsageError,
        match=r"compute mode on b, exclusive to a process, forbids that; .*nvidia-smi",
    ):
        preflight.check_sharing("cuda", 2, there, side_by_side=True)


@pytest.mark.parametrize(("sizes", "kept"), [((1, 10**12), [True, False]), ((10**12,), None)])
def test_what_certainly_does_not_fit_is_refused(plugins, sizes, kept):
    """The rest of a sweep is measured; if nothing is left, the command ends."""
    experiment = asked(
        frameworks=("tiny", "flaky"), device="cpu", threads=1,
        wanted={"model": ("tiny-model",), "batch_size": sizes},
    )  # fmt: skip
    checked = Checked(
        experiment=experiment, comparisons=tuple(plan(experiment, plugins)), launcher=None
    )
    if kept is None:
        with pytest.raises(UsageError, match=r"needs at least .* GiB .*: use a smaller"):
            fitting(checked)
        return
    found = [entry.support for one in fitting(checked) for entry in one.entries]
    assert [one.supported for one in found[::2]] == kept
    assert "tiny-model train at batch size 1000000000000 needs at least" in found[-1].reason
