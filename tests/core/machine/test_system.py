"""How a result describes the machine."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from fake_nvml import FakeGpu, FakeNvml

from mbench.contract.reading import read_fields
from mbench.machine import devices, nvml, system
from mbench.machine.records import System


def test_the_description_is_strict_json_and_names_the_machine():
    described = system.describe_system({"OMP_PROC_BIND": "true"})
    text = json.dumps(asdict(described), allow_nan=False)
    assert read_fields(System, json.loads(text), where="system") == described
    assert described.cpu
    assert described.memory_bytes > 2**20
    assert described.usable_cores <= described.logical_cores
    assert len(described.load_average) == 3
    assert described.variables == {"OMP_PROC_BIND": "true"}


@pytest.mark.parametrize(
    ("gpus", "visible", "device"),
    [(2, None, "cuda"), (2, "1", "cuda"), (2, "-1", "cpu"), (0, None, "cpu")],
)
def test_the_device_is_a_gpu_that_workers_may_see(monkeypatch, gpus, visible, device):
    made = FakeNvml(*map(FakeGpu, range(gpus))) if gpus else None
    monkeypatch.setattr(nvml, "initialised", lambda: made)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert devices.usual() == device


def test_gpus_by_name(monkeypatch):
    monkeypatch.setattr(nvml, "initialised", FakeNvml)
    described = system.describe_system({})
    assert [gpu["address"] for gpu in described.gpus] == ["0000:3b:00.0", "0000:3c:00.0"]
    assert described.gpus[0]["name"] == "NVIDIA Made-Up 100"


def test_files_that_are_not_there_read_as_none(tmp_path):
    assert system.read(tmp_path / "none") is None
    assert system.read(tmp_path) is None


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("processor\t: 0\ncpu family\t: 25\nmodel\t\t: 1\nmodel name\t: AMD EPYC\n"
         "flags\t\t: fpu avx avx2\n\nprocessor\t: 1\nmodel name\t: another\n",
         "AMD EPYC, family 25, model 1, AVX2"),
        ("model name\t: Xeon\nflags\t: avx2 avx512f avx512_vnni amx_tile\n",
         "Xeon, AVX2, AVX-512, AVX512-VNNI, AMX"),
        ("processor\t: 0\nFeatures\t: fp asimd sve\n", ", NEON, SVE"),
    ],
)  # fmt: skip
def test_a_processor_is_told_by_its_model_and_instruction_sets(tmp_path, told, said):
    path = tmp_path / "cpuinfo"
    path.write_text(told)
    assert system.cpu_model(path).endswith(said)
