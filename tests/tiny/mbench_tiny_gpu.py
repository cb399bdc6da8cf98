"""A made-up GPU for tiny: a folder that TINY_GPU names, with what processes hold of its memory.

`gpu.json` has its settings; tests/fake_nvml.py shows the same folder as NVML would. Its profiler
writes a trace as PyTorch's does, of calls that no GPU made.
"""

from __future__ import annotations

import atexit
import json
import os
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["Device", "OutOfDeviceMemory", "Settings", "holders"]

MIB = 2**20


@dataclass(frozen=True)
class Settings:
    """What the GPU is like; sizes are in MiB."""

    name: str = "NVIDIA Made-Up 100"
    address: str = "0000:3b:00.0"
    memory: int = 10_000
    context: int = 100
    """What every process takes before its framework asks for anything."""
    sample: int = 10
    """What a step takes for each sample of its batch."""
    tuning: int = 50
    """What the first step takes in addition, for a moment."""
    obeys: bool = True
    """Whether the framework holds itself to its share."""
    exclusive: bool = False
    largest_scale: float = 2.0**12
    """The largest scale of the loss at which gradients do not overflow."""
    sm_mhz: int = 1755
    slowed_by: int = 0
    others: int = 0
    """MiB that somebody else holds."""

    @classmethod
    def of(cls, folder: Path) -> Settings:
        return cls(**json.loads((folder / "gpu.json").read_text()))

    def write(self, folder: Path) -> None:
        (folder / "gpu.json").write_text(json.dumps(asdict(self)))


KERNEL = "void tiny::product<4, tiny::Plus<float> >(int, tiny::Plus<float>)"
COPY = "Memcpy HtoD (Pageable -> Device)"


class OutOfDeviceMemory(Exception):
    """An error like the one that a framework's own allocator raises."""


def holders(folder: Path) -> dict[int, int]:
    """The bytes that each living process holds, by process ID."""
    found = {}
    for file in folder.glob("*.held"):
        if (Path("/proc") / file.stem).exists():
            try:
                found[int(file.stem)] = int(file.read_text() or 0)
            except FileNotFoundError:
                continue  # it ended meanwhile
    return found


class Device:
    """One process's view of the GPU, with an allocator that gives nothing back to the driver."""

    def __init__(self, share_bytes: int | None) -> None:
        self.folder = Path(os.environ["TINY_GPU"])
        self.settings = Settings.of(self.folder)
        self.share_bytes = share_bytes
        self.given = self.peak = self.pool = 0
        self.traced = None
        """The events, while the profiler is on; else None."""
        if self.settings.exclusive and holders(self.folder):
            raise RuntimeError("CUDA-capable device(s) is/are busy or unavailable")
        self.file = self.folder / f"{os.getpid()}.held"
        atexit.register(self.file.unlink, missing_ok=True)
        self.write()

    def take(self, mib: int) -> None:
        """Take memory; raises OutOfDeviceMemory beyond the share, and beyond what there is."""
        self.given += mib * MIB
        self.peak = max(self.peak, self.given)
        grown = max(self.pool, self.given)
        settings = self.settings
        others = sum(b for pid, b in holders(self.folder).items() if pid != os.getpid())
        whole = others + (settings.others + settings.context) * MIB + grown
        bound = self.share_bytes if settings.obeys else None
        if whole > settings.memory * MIB or (bound is not None and grown > bound):
            self.give(mib)
            raise OutOfDeviceMemory(f"tried to allocate {mib} MiB")
        self.pool = grown
        self.write()

    def give(self, mib: int) -> None:
        self.given -= mib * MIB

    def launch(self) -> None:
        """Trace a step: a copy, and two kernels that differ in their grid. It takes no time."""
        if self.traced is None:
            return
        self.event("cpu_op", "tiny::step", 20)
        self.event("gpu_memcpy", COPY, 2, device=0, bytes=64)
        for blocks in (1, 8):
            self.event("kernel", KERNEL, 5, device=0, grid=[blocks, 1, 1], block=[128, 1, 1])

    def event(self, kind: str, name: str, microseconds: float, **arguments: object) -> None:
        self.traced.append({"ph": "X", "cat": kind, "name": name, "pid": 0, "tid": 7, "ts": 1,
                            "dur": microseconds, "args": arguments})  # fmt: skip

    @contextmanager
    def profiler(self, folder: str):
        self.traced = []
        yield
        trace = {"schemaVersion": 1, "traceEvents": self.traced}
        (Path(folder) / "tiny.json").write_text(json.dumps(trace))
        self.traced = None

    def write(self) -> None:
        fresh = self.file.with_suffix(".new")
        fresh.write_text(str(self.pool + self.settings.context * MIB))
        fresh.replace(self.file)
