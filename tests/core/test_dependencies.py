"""The lower bound of each dependency excludes versions with known vulnerabilities."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for path in [ROOT / "pyproject.toml", *ROOT.glob("*/**/pyproject.toml")]
    if not {".tox", ".venv", "node_modules"} & set(path.parts)
)
FIRST_SAFE = {
    "duckdb": "1.4.2",  # CVE-2025-64429
    "jinja2": "3.1.6",  # CVE-2025-27516, CVE-2024-56326
    "mlflow-skinny": "3.5",  # CVE-2025-14279, and others of the server
    "psutil": "5.6.6",  # CVE-2019-18874
    "pyarrow": "17",  # CVE-2023-47248, CVE-2024-52338
    "pytest": "9.0.3",  # CVE-2025-71176
    "ray": "2.52",  # CVE-2025-62593
    "setuptools": "78.1.1",  # CVE-2025-47273
    "virtualenv": "20.36.1",  # CVE-2024-53899, CVE-2026-22702
}


def requirements():
    for file in FILES:
        if "{" in (text := file.read_text(encoding="utf-8")) and "templates" in file.parts:
            text = re.sub(r"\{\w+\}", "x", text)
        project = tomllib.loads(text)
        found = [*project["build-system"]["requires"], *project["project"].get("dependencies", [])]
        for extra in project["project"].get("optional-dependencies", {}).values():
            found += extra
        for one in map(Requirement, found):
            yield file.relative_to(ROOT), one


@pytest.mark.parametrize(("file", "one"), list(requirements()), ids=str)
def test_a_lower_bound_is_past_known_holes(file, one):
    safe = FIRST_SAFE.get(canonicalize_name(one.name))
    floors = [Version(s.version) for s in one.specifier if s.operator in (">=", "==", "~=")]
    if safe is not None:
        assert floors, f"{file}: {one} has no lower bound"
        assert max(floors) >= Version(safe), f"{file}: {one}: {safe} is the first that is safe"


def test_every_file_is_read():
    assert len(FILES) >= 8
    assert {canonicalize_name(one.name) for _, one in requirements()} >= {"jinja2", "ray", "pytest"}
