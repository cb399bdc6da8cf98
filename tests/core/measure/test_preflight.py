"""What is told before anything is downloaded, proven or measured."""

from __future__ import annotations

import pytest
from fake_nvml import FakeGpu, FakeNvml

from mbench.cli.constants import protocol_of
from mbench.engine import machines
from mbench.errors import UsageError
from mbench.machine import nvml
from mbench.measure import preflight
from mbench.measure.preflight import check
from mbench.spec.order import Order
from mbench.spec.planning import Sweep, plan


@pytest.fixture
def order(plugins, tmp_path):
    """Two frameworks by a protocol's options, on a device, with threads."""

    def order(name="adaptive", *, device="cpu", threads=1, steadiness="usual", **options):
        wanted = {"model": ("tiny-model",), "steadiness": ("usual", steadiness)}
        sweep = Sweep(
            frameworks=("tiny", "flaky"), wanted=wanted, device=device, threads=threads
        )  # fmt: skip
        return Order(
            comparisons=tuple(plan(sweep, plugins)), protocol=protocol_of(name, options),
            launcher=None, command=("mbench",), results=tmp_path,
        )  # fmt: skip

    return order


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, None),
        ({"processes": 3, "budget": 30.0}, None),
        ({"budget": 50.0}, None),
        ({"budget": 49.0},
         "a budget of 49 s for 10 workers (5 processes of 2 cases) leaves each 4.9 s"),
        ({"budget": 1.0, "rounds": 2}, None),
        ({"name": "dlperf"}, None),
    ],
)  # fmt: skip
def test_a_budget_that_is_hopeless_is_doubted(order, options, said):
    found = check(order(**options))
    assert len(found) == (said is not None)
    for line in found:
        assert line.startswith(said)
        assert line.endswith("give --budget 160, or fewer --processes")


def test_a_budget_that_does_not_hold_its_rounds_is_refused(order):
    with pytest.raises(UsageError, match=r"does not hold their 3 rounds: give --budget 160, or fe"):
        check(order(budget=10.0))


def test_more_threads_than_run_at_once_are_told(order, monkeypatch):
    monkeypatch.setattr(machines, "hardware_threads", lambda: 2)
    assert check(order(threads=2)) == []
    (line,) = check(order(threads=64))
    assert line.startswith("64 threads on a machine that runs 2 at once")
    assert "give --threads 2 or fewer" in line


def test_cuda_without_a_driver_ends_before_anything_begins(order, monkeypatch):
    monkeypatch.setattr(nvml, "initialised", lambda: None)
    with pytest.raises(UsageError, match="no NVIDIA GPU is to be seen") as caught:
        check(order(device="cuda"))
    assert caught.value.option == "--device"
    monkeypatch.setattr(nvml, "initialised", FakeNvml)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert check(order(device="cuda")) == []


def test_steady_workers_are_refused_where_they_cannot_be(order, monkeypatch):
    monkeypatch.setattr(machines, "lack", lambda: "it is not allowed here")
    assert check(order()) == []
    with pytest.raises(UsageError, match="--steady: it is not allowed here"):
        check(order(steadiness="steady"))
    elsewhere = machines.describe_machine()
    monkeypatch.setattr(machines, "lack", lambda: "")
    assert check(order(steadiness="steady")) == []
    there = {"a": machines.describe_machine(), "b": elsewhere}
    with pytest.raises(UsageError, match="--steady: b: it is not allowed here"):
        preflight.check_steadiness(order(steadiness="steady"), there)


def test_frameworks_cannot_stand_side_by_side_on_a_gpu_for_one(monkeypatch):
    monkeypatch.setattr(nvml, "initialised", lambda: FakeNvml(FakeGpu(0, GetComputeMode=3)))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    there = {"b": machines.describe_machine()}
    preflight.check_room("cuda", 1, there, side_by_side=True)
    preflight.check_room("cuda", 4, there, side_by_side=False)
    preflight.check_room("cpu", 4, there, side_by_side=True)
    with pytest.raises(
        UsageError, match=r"on b is exclusive to a process, and 2 frameworks .* nvidia-smi"
    ):
        preflight.check_room("cuda", 2, there, side_by_side=True)
