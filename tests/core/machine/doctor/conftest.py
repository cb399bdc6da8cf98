"""A made-up machine, which is fit for measurements until a test spoils it."""

from __future__ import annotations

from types import SimpleNamespace

import psutil
import pytest

from mbench.machine import kernel, limits
from mbench.machine.doctor import gpu, memory, processor, speed


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine of two cores, of which other programs use `used` and the hypervisor `stolen`.

    `write(name, text)` writes one of the kernel's files. `loops` are the times of equal loops on
    any of its cores, `copies` those of equal copies through memory.
    """
    machine = SimpleNamespace(used=0.0, stolen=0.0, now=100.0, root=tmp_path, loops=[100] * 50,
                              copies=[100] * 50)  # fmt: skip

    def write(name: str, text: str | int) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")

    def sleep(seconds: float) -> None:
        machine.now += seconds

    machine.write = write
    machine.memory = SimpleNamespace(available=16 * 2**30, total=32 * 2**30)
    machine.swap = SimpleNamespace(used=0, total=0)
    monkeypatch.setattr(kernel, "CPUS", tmp_path)
    monkeypatch.setattr(kernel, "cores_of", lambda pid: [0, 1])
    monkeypatch.setattr(
        kernel,
        "core_seconds",
        lambda cores: (machine.used * machine.now, machine.stolen * machine.now),
    )
    monkeypatch.setattr(processor, "time",
                        SimpleNamespace(monotonic=lambda: machine.now, sleep=sleep))  # fmt: skip
    monkeypatch.setattr(speed, "loops_on", lambda core: machine.loops)
    monkeypatch.setattr(speed, "copies", lambda: machine.copies)
    monkeypatch.setattr(limits, "SELF", tmp_path / "cgroup")
    monkeypatch.setattr(limits, "MOUNT", tmp_path / "groups")
    monkeypatch.setattr(memory, "HUGE_PAGES", tmp_path / "huge")
    monkeypatch.setattr(memory, "limitation", lambda: "")
    monkeypatch.setattr(gpu, "has_driver", lambda: False)
    monkeypatch.delenv("CUDA_MPS_PIPE_DIRECTORY", raising=False)
    monkeypatch.setattr(gpu, "seen_gpus", list)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: machine.memory)
    monkeypatch.setattr(psutil, "swap_memory", lambda: machine.swap)
    for name in processor.THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for core in (0, 1):
        write(f"cpu{core}/cpufreq/scaling_governor", "performance")
    write("huge", "always [madvise] never")
    return machine
