"""Fetches what the other machine lacks: wheels of mbench, its adapters and small libraries."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

__all__ = ["prepare"]

ROOT = Path(__file__).resolve().parent.parent.parent
BROUGHT = ("click", "platformdirs", "python-discovery", "virtualenv")
"""mbench's requirements that come with no framework. What they need themselves is fetched too. All
are pure Python.
"""


def requirements(text: str) -> list[str]:
    """The requirements in the project file `text` that are fetched, with their versions."""
    found = re.search(r"^dependencies = \[(.*?)\]", text, re.DOTALL | re.MULTILINE)
    assert found, "pyproject.toml has no dependencies"
    named = re.findall(r'"([^"]+)"', found[1])
    return [one for one in named if re.split(r"[^\w-]", one, maxsplit=1)[0] in BROUGHT]


def commands(folder: Path, *, target: str) -> list[list[str]]:
    """The calls of pip, for mbench, the adapters that have their own distribution, and BROUGHT."""
    pip = [sys.executable, "-m", "pip"]
    beside = sorted(path.parent for path in ROOT.glob("adapters/*/pyproject.toml"))
    wanted = requirements((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return [
        *([*pip, "wheel", "--no-deps", "--wheel-dir", str(folder), str(path)]
          for path in (ROOT, *beside)),
        [*pip, "download", "--only-binary=:all:", "--python-version", target, "--implementation",
         "cp", "--platform", "any", "--dest", str(folder), *wanted],
    ]  # fmt: skip


def prepare(folder: Path, *, target: str) -> int:
    """Returns the exit code: pip's, if it fails."""
    folder.mkdir(parents=True, exist_ok=True)
    for command in commands(folder, target=target):
        if code := subprocess.run(command, check=False).returncode:
            return code
    wheels = sorted(path.name for path in folder.glob("*.whl"))
    print("\n".join(wheels))
    print(f"\nThere: python -m pip install --no-index --no-deps --target site {folder}/*.whl\n"
          "       PYTHONPATH=$PWD/site python benchmarks/cuda.py")  # fmt: skip
    return 0
