"""Files that other tools read: they parse, and each fact in them is stated in one place."""

from __future__ import annotations

import configparser

import pytest
import yaml

import mbench

FILES = [
    ".github/workflows/ci.yml",
    ".github/workflows/release.yml",
    ".pre-commit-config.yaml",
    "CITATION.cff",
]


@pytest.fixture
def parsed(root):
    return {name: yaml.safe_load((root / name).read_text(encoding="utf-8")) for name in FILES}


def commands(workflow):
    return [
        step["run"]
        for job in workflow["jobs"].values()
        for step in job.get("steps", [])
        if "run" in step
    ]


def test_ci_runs_what_a_contributor_runs(root, parsed):
    assert commands(parsed[".github/workflows/ci.yml"]) == [".ci/run"]
    assert (root / ".ci/run").stat().st_mode & 0o111
    readme = (root / "README.md").read_text(encoding="utf-8")
    (command,) = (
        line.removeprefix("$ ") for line in readme.splitlines() if ".venv/bin/tox" in line
    )
    last = (root / ".ci/run").read_text(encoding="utf-8").rstrip().splitlines()[-1]
    assert last.replace("install -q", "install") == command


def test_a_release_is_tested_and_published_without_a_password(parsed):
    workflow = parsed[".github/workflows/release.yml"]
    jobs = workflow["jobs"]
    assert jobs["test"]["uses"] == "./.github/workflows/ci.yml"
    assert set(jobs["publish"]["needs"]) == {"test", "build"}
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert workflow["permissions"] == {"contents": "read"}


def test_the_hook_is_the_linter_of_ci(root, parsed, pages):
    """This way, ruff's version is stated in tox.ini alone."""
    ((hook,),) = (repository["hooks"] for repository in parsed[".pre-commit-config.yaml"]["repos"])
    assert hook["entry"].split()[0] == "tox"
    assert hook["entry"].endswith("-e lint")
    tox = configparser.ConfigParser()
    tox.read(root / "tox.ini")
    assert hook["additional_dependencies"] == [f"tox>={tox['tox']['min_version']}"]
    assert "pre-commit install" in pages["CONTRIBUTING.md"]


def test_the_citation_is_of_this_version(parsed):
    assert parsed["CITATION.cff"]["version"] == mbench.__version__
    assert parsed["CITATION.cff"]["license"] == "Apache-2.0"
