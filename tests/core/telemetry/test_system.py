"""What a result says of the machine."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING

import psutil
import pytest

from mbench.contract.reading import read_fields
from mbench.telemetry import system
from mbench.telemetry.machine import System

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


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
    ("affinity", "physical", "cores"),
    [({0}, 8, 1), ({0, 1, 2, 3}, 2, 2), ({0, 1}, 8, 2), ({0, 1, 2}, None, 3)],
)
def test_usable_cores_are_physical_and_allowed(monkeypatch, affinity, physical, cores):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: affinity, raising=False)
    monkeypatch.setattr(psutil, "cpu_count", lambda logical=True: 16 if logical else physical)
    assert system.usable_cores() == cores


@pytest.mark.parametrize(("loaded", "device"), [(True, "cuda"), (False, "cpu")])
def test_the_device_is_the_drivers(monkeypatch, tmp_path, loaded, device):
    driver = tmp_path / "version"
    if loaded:
        driver.touch()
    monkeypatch.setattr(system, "NVIDIA_DRIVER", driver)
    assert system.find_device() == device


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a script on PATH as nvidia-smi."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def put(body: str) -> None:
        script = tmp_path / "nvidia-smi"
        script.write_text(f"#!/bin/sh\n{body}\n")
        script.chmod(0o755)

    return put


def test_gpus_by_name(smi):
    smi("echo 'Tesla X, 550.1, 81559 MiB, 700.00 W, 1980 MHz'; echo 'Y, 1, 2 MiB, [N/A], 3 MHz'")
    first, second = system.gpus()
    assert first == {
        "name": "Tesla X",
        "driver_version": "550.1",
        "memory.total": "81559 MiB",
        "power.limit": "700.00 W",
        "clocks.max.sm": "1980 MHz",
    }
    assert second["power.limit"] == "[N/A]"


@pytest.mark.parametrize("body", ["exit 9", "echo No devices were found", "true"])
def test_a_tool_that_fails_shows_no_gpu(smi, body):
    smi(body)
    assert system.gpus() == []


def test_no_tool_no_gpu(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert system.gpus() == []


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
