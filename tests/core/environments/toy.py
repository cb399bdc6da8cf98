"""A framework of one line: its adapter, its distributions, and a process that looks for it.

Usage: python toy.py REQUIREMENT...
"""

from __future__ import annotations

import io
import sys
import tarfile
import zipfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mbench.contract.adapter import SUPPORTED, Support
from mbench.environments.locate import find
from mbench.spec.arm import parse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mbench.contract.adapter import Need
    from mbench.contract.case import Case


@dataclass
class ToyAdapter:
    name: str = "toy"
    title: str = "Toy"
    imports: Sequence[str] = ("toylib",)
    runtime: str = "toy_runtime:Runtime"
    pins: Sequence[str] = ("toy==1.0",)
    pythons: str = ">=3.10"
    compilers: Mapping[str, str] = field(default_factory=dict)
    tiers: Mapping[str, object] = field(default_factory=dict)
    tuned_by: Sequence[str] = ()
    devices: Sequence[str] = ("cpu", "cuda")
    needs: Sequence[Need] = ()

    def requirements(self, version: str | None, accelerator: str) -> Sequence[str]:
        if accelerator == "cuda":
            return [f"toy-cuda=={version or '1.0'}"]
        return self.pins if version is None else [f"toy=={version}"]

    def index_hint(self, accelerator: str) -> str:
        return f"Toy for {accelerator} is in the toy shop"

    def python(self, version: str | None) -> str:
        return self.pythons

    def variables(self, *, threads: int, device: str) -> Mapping[str, str]:
        return {}

    def supports(self, case: Case) -> Support:
        return SUPPORTED


def wheel(folder: Path, *, version: str = "1.0", name: str = "toy") -> None:
    """Put a wheel with the module toylib into `folder`; it can serve as an installation, too."""
    info = f"{name}-{version}.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as file:
        file.writestr("toylib/__init__.py", "raise RuntimeError('toylib was imported')\n")
        file.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"
        )
        file.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any"
        )
        file.writestr(f"{info}/RECORD", "toylib/__init__.py,,\n")


def installed(folder: Path, *, version: str, name: str = "toy") -> None:
    """Unpack the wheel into `folder`, as if installed there."""
    wheel(folder, version=version, name=name)
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl") as file:
        file.extractall(folder)


def gated(folder: Path) -> tuple[Path, Path]:
    """Put a source distribution into `folder` whose build waits for the second file returned.

    The first file returned appears when building begins: each build adds a line to it, with the
    process ids of the builder and of pip.
    """
    started, gate = folder / "started", folder / "gate"
    files = {
        "PKG-INFO": "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n",
        "pyproject.toml": "[build-system]\nrequires = []\nbuild-backend = 'backend'\n"
        "backend-path = ['.']\n",
        "backend.py": f"""
import os, pathlib, sys, time
def build_wheel(folder, settings=None, metadata=None):
    with open({str(started)!r}, "a") as file:
        file.write(f"{{os.getpid()}} {{os.getppid()}}\\n")
    while not os.path.exists({str(gate)!r}):
        time.sleep(0.02)
    name = "toy-1.0-py3-none-any.whl"
    with open(os.path.join(folder, name), "wb") as file:
        file.write(pathlib.Path({str(folder)!r}, "built", name).read_bytes())
    return name
""",
    }
    wheel(folder / "built")
    with tarfile.open(folder / "toy-1.0.tar.gz", "w:gz") as file:
        for name, text in files.items():
            member = tarfile.TarInfo(f"toy-1.0/{name}")
            member.size = len(text.encode())
            file.addfile(member, io.BytesIO(text.encode()))
    return started, gate


if __name__ == "__main__":
    environment = find(
        parse("toy"),
        ToyAdapter(pins=sys.argv[1:]),
        accelerator="cpu",
        provision=True,
        report=lambda line: print(line, flush=True),
    )
    print("digest", environment.digest)
