"""The command `mbench`, run with the adapters of this repository and a benchmark's own plugins."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT / "core")]

from mbench.environments.locate import find  # noqa: E402
from mbench.plugins.manager import Plugins  # noqa: E402
from mbench.spec.arm import parse  # noqa: E402

__all__ = ["BRIEF", "mbench", "placed", "sized"]

BRIEF = ["--processes", "1", "--budget", "3000", "--threads", "1", "--quiet", "--format", "json"]


def mbench(
    *arguments: str, folder: str, plugins: str = "liars", **variables: str
) -> dict[str, Any]:
    """The JSON document that a command prints; `plugins` is a package next to this file."""
    adapters = [str(path) for path in sorted((ROOT / "adapters").iterdir())]
    found = Path(folder, f"{plugins}-1.0.dist-info")
    if not found.exists():
        found.mkdir()
        (found / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {plugins}\nVersion: 1.0\n")
        (found / "entry_points.txt").write_text(f"[mbench]\n{plugins} = {plugins}.plugin\n")
    brought = filter(None, [os.environ.get("PYTHONPATH")])
    path = os.pathsep.join([folder, str(HERE), str(ROOT / "core"), *adapters, *brought])
    command = [sys.executable, "-m", "mbench", *arguments]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path, **variables},
    )
    if not done.stdout.startswith("{"):
        raise SystemExit(f"{' '.join(command)} says: {done.stdout}")
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def sized(models: str, image_size: int) -> list[str]:
    images = [] if models.startswith("small-") else ["--image-size", str(image_size)]
    return ["--models", models, "--batch-size", "4", *images]


def placed(framework: str) -> str:
    """The framework with its Python named: mbench's own environment would lock the liars out."""
    spec = parse(framework)
    if spec.python:
        return framework
    environment = find(spec, Plugins().adapter(spec.name), accelerator="cpu", provision=True,
                       report=print)  # fmt: skip
    return f"{framework}@{environment.python}"
