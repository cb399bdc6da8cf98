"""Files of a made-up kernel, read in place of this machine's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mbench.contract.device import DeviceSample
from mbench.machine import cores, kernel, limits
from mbench.machine.records import Sample

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder, empty at first, that is read in place of /proc and /sys."""
    for module, name, path in (
        (kernel, "PRESSURE", "pressure"),
        (kernel, "VMSTAT", "vmstat"),
        (kernel, "CPUINFO", "cpuinfo"),
        (kernel, "CPUS", "cpus"),
        (kernel, "POWERCAP", "powercap"),
        (cores, "HYBRID", "devices"),
        (limits, "SELF", "cgroup"),
        (limits, "MOUNT", "groups"),
    ):
        monkeypatch.setattr(module, name, tmp_path / path)
    return tmp_path


@pytest.fixture
def write(root: Path):
    """Writes one of the kernel's files."""

    def write(name: str, text: str | int) -> None:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")

    return write


@pytest.fixture
def sample():
    """Makes a sample taken at `at` seconds, with one of the GPU if `gpu` is given."""

    def sample(at: float, *, gpu: dict | None = None, **known) -> Sample:
        usual = {"busy_seconds": 0.0, "stolen_seconds": 0.0, "worker_seconds": 0.0,
                 "available_bytes": 2**30}  # fmt: skip
        return Sample(
            at_nanoseconds=round(at * 1e9),
            gpu=DeviceSample(**gpu) if gpu else None,
            **{**usual, **known},
        )

    return sample
