"""Kinds of device from a plugin are found, named, watched, and if absent refused by name."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from types import ModuleType, SimpleNamespace

import mbench_tiny
import pytest
from mbench_tiny_gpu import Settings

import mbench
from mbench.contract.device import HOST, DeviceSample, ok
from mbench.engine.isolation import worker_variables
from mbench.errors import PluginFailed, UsageError
from mbench.machine import devices, nvml
from mbench.machine.doctor.examine import examine
from mbench.plugins.hooks import hookimpl
from mbench.plugins.manager import Plugins

OURS = [
    EntryPoint("mbench_builtin", "mbench.cli.builtin", "mbench"),
    EntryPoint("mbench_tiny", "mbench_tiny", "mbench"),
]


class Oven:
    """One device of a plugin's kind."""

    name, driver, mode, for_one = "Oven 9000", "7.1", "shared", False

    def __init__(self, address="slot 3", celsius=220, joules=0.0):
        self.address, self.celsius, self.joules = address, celsius, joules
        self.looks = 0

    def sample(self, pids=()):
        self.looks += 1
        return DeviceSample(
            sm_mhz=900, celsius=self.celsius, held_bytes=2**20 if pids else None,
            joules=self.looks * self.joules,
        )  # fmt: skip

    def memory(self):
        return 2**33, 2**34

    def held_bytes(self, pids):
        return 2**20

    def facts(self):
        return {"name": self.name, "slot": self.address}


class Ovens:
    """A plugin's kind of device."""

    name, title = "oven", "oven"
    hint, sharing = "switch it on", "open its door"

    def __init__(self, *there):
        self.there = there

    def all(self):
        return list(self.there)

    def seen(self):
        return list(self.there)

    def variables(self):
        return {"OVEN_DOOR": "shut"}

    def visible(self, local_rank):
        return {"OVEN_PLATE": str(local_rank)}

    def examine(self):
        return [ok("oven", f"{one.name} is warm") for one in self.there]


@pytest.fixture
def bring(monkeypatch):
    """Makes a plugin's kinds of device known, beside mbench's own; there is no NVIDIA GPU."""

    def bring(*kinds):
        module = ModuleType("mbench_kitchen")
        module.mbench_devices = hookimpl(lambda: list(kinds))
        monkeypatch.setitem(sys.modules, "mbench_kitchen", module)
        entries = [*OURS, EntryPoint("mbench_kitchen", "mbench_kitchen", "mbench")]
        found = Plugins(external=True, entries=entries)
        devices.use(found)
        return found

    monkeypatch.setattr(nvml, "initialised", lambda: None)
    yield bring
    devices.use(None)


def test_our_own_come_through_the_same_hook(bring):
    bring()
    assert devices.names() == [HOST, "cuda"]
    assert devices.usual() == HOST
    assert devices.accelerator(HOST) is None
    assert devices.accelerator("cuda") is None


def test_a_strangers_is_used_where_there_is_one(bring):
    oven = Oven()
    found = bring(Ovens(oven))
    assert found.problems == []
    assert devices.names() == [HOST, "cuda", "oven"]
    assert devices.usual() == "oven"
    assert devices.accelerator("oven") is oven
    assert devices.accelerator("oven", "slot 4") is None


def test_doctor_looks_at_it(bring, tmp_path):
    bring(Ovens(Oven()))
    said = {check.name: check.found for check in examine(results=tmp_path)}
    assert said["oven"] == "Oven 9000 is warm"


def test_its_variables_reach_workers_unless_they_are_set(bring, monkeypatch):
    found = bring(Ovens(Oven()))
    case = SimpleNamespace(device="oven", threads=1, tier="default")
    assert worker_variables(found.adapter("tiny"), case)["OVEN_DOOR"] == "shut"
    monkeypatch.setenv("OVEN_DOOR", "open")
    assert "OVEN_DOOR" not in worker_variables(found.adapter("tiny"), case)


def test_it_is_named_in_results_and_its_case_is_watched(bring, monkeypatch, tmp_path):
    """The tiny framework computes on it as on its made-up GPU."""
    oven = Oven()
    Settings(name=oven.name, address=oven.address).write(tmp_path)
    monkeypatch.setenv("TINY_GPU", str(tmp_path))
    monkeypatch.setenv("TINY_DEVICES", "oven")
    monkeypatch.setattr(mbench_tiny.Tiny, "devices", ("cpu", "cuda", "oven"))
    bring(Ovens(oven))
    document = mbench.run(
        "tiny", models="tiny-model", device="oven", threads=1, processes=1, rounds=2, block=0.3,
        mfu=False, quiet=True,
    ).document  # fmt: skip
    (case,) = document["cases"]
    assert (case["outcome"], case["device"], case["batch_size"]) == ("ok", "oven", 64), case
    assert case["equal_work"]["proven"]
    assert case["framework_info"]["device_name"] == "Oven 9000"
    assert {"name": "Oven 9000", "slot": "slot 3"} in document["system"]["gpus"]
    assert case["telemetry"]["gpu"]["sm_mhz"]["median"] == 900
    assert case["device_memory_bytes"] == 2**20


def test_of_a_case_on_several_each_is_watched(bring, monkeypatch, tmp_path):
    """Only the devices that it uses are watched: the third is even hotter, but unused."""
    near, far, unused = ovens = (
        Oven("slot 3", joules=1.0), Oven("slot 4", 240, joules=1e3), Oven("slot 5", 300),
    )  # fmt: skip
    Settings(name=near.name, address=near.address).write(tmp_path)
    monkeypatch.setenv("TINY_GPU", str(tmp_path))
    monkeypatch.setenv("TINY_DEVICES", "oven")
    monkeypatch.setattr(mbench_tiny.Tiny, "devices", ("cpu", "cuda", "oven"))
    bring(Ovens(*ovens))
    document = mbench.run(
        "tiny", models="tiny-model", device="oven", scale="1x2", threads=1, processes=1, rounds=2,
        block=0.3, mode="train", mfu=False, quiet=True,
    ).document  # fmt: skip
    (case,) = document["cases"]
    assert case["outcome"] == "ok", case["reason"]
    assert case["telemetry"]["gpu"]["highest_celsius"] == 240
    assert near.looks == far.looks > 0 == unused.looks
    assert case["energy"]["mean_watts"] > 100, "or only the nearer one's is counted"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"device": "toaster"}, "toaster"),
        ({"device": "oven"}, "no oven is visible on this machine; switch it on, or give"),
    ],
)
def test_what_is_not_there_is_refused_in_one_line(bring, words, said):
    bring(Ovens())
    with pytest.raises(UsageError, match=said) as caught:
        mbench.run("tiny", models="tiny-model", quiet=True, **words)
    assert "\n" not in str(caught.value)


def test_a_framework_refuses_a_device_that_it_does_not_name(bring):
    bring(Ovens(Oven()))
    (case,) = mbench.run("tiny", models="tiny-model", device="oven", quiet=True).document["cases"]
    assert case["outcome"] == "unsupported"
    assert case["reason"] == "Tiny has no device oven; available: cpu, cuda"


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (
            SimpleNamespace(name="stove", title="stove"),
            "SimpleNamespace lacks all, examine, hint",
        ),
        (type("Host", (Ovens,), {"name": HOST})(), "'cpu' is reserved for the machine itself"),
        (
            type("Odd", (Ovens,), {"title": 3})(),
            "mbench_devices returned an invalid value: TypeError",
        ),
    ],
)
def test_a_kind_that_is_none_is_told_and_left_out(bring, kind, said):
    found = bring(kind)
    assert list(found.devices.unique()) == ["cuda"]
    (problem,) = found.problems
    assert problem.plugin == "mbench_kitchen (unknown)"
    assert said in problem.message


def test_what_a_kind_raises_is_told_as_its_plugins(bring):
    class Cold(Ovens):
        def seen(self):
            raise OSError("no gas")

    bring(Cold())
    with pytest.raises(PluginFailed, match=r"mbench_kitchen .*oven's seen\(\): OSError: no gas"):
        devices.usual()
