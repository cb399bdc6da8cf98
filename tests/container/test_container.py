"""A fresh Debian: the Containerfile's steps, and the commands that the README begins with."""

from __future__ import annotations

import json
import re
import shutil

import debian
import pytest
from containerfile import CHECKOUT, Image, copy, files, instructions

USER = 12345
"""The number of a user whom the system does not know."""
ONCE = ("--models", "tiny-model", "--processes", "2", "--rounds", "3", "--block", "0.05",
        "--no-mfu")  # fmt: skip


@pytest.fixture(scope="session")
def fresh(tmp_path_factory):
    if reason := debian.lacking():
        pytest.skip(reason)
    made = debian.Debian(tmp_path_factory.mktemp("debian") / "root")
    yield made
    shutil.rmtree(made.root, ignore_errors=True)


@pytest.fixture(scope="session")
def image(fresh):
    return Image(fresh)


def said(done, code=0):
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_base_is_chosen_by_an_argument():
    found = instructions((CHECKOUT / "Containerfile").read_text())
    assert found[:2] == [
        ("ARG", "BASE=docker.io/library/debian:bookworm-slim"), ("FROM", "${BASE}")
    ]  # fmt: skip


def test_without_words_it_says_what_there_is(image):
    assert "compare" in said(image.run())
    assert "torch" in said(image.run("list", "frameworks", user=USER))


def test_a_plan_is_made_by_any_user(image):
    told = said(image.run("compare", "torch", "tf", "--models", "resnet18", "--fast", "--dry-run",
                          user=USER))  # fmt: skip
    assert "1 comparison, 2 cases" in told


def test_a_comparison_is_measured_proven_and_kept_by_any_user(image):
    """The framework is tiny, which needs no download."""
    copy(files(), image.debian.at("/checkout"))
    said(image.debian.run("/opt/mbench/bin/pip install --no-deps /checkout/tests/tiny"))
    said(image.run("compare", "tiny", "tiny:threads=1", *ONCE, user=USER))
    (file,) = image.debian.at("/mbench/results").glob("*/run.jsonl")
    events = [json.loads(line) for line in file.read_text().splitlines()]
    assert all(event["proven"] for event in events if event["event"] == "equal_work")
    assert events[-1]["status"] == "complete"
    assert "tiny" in said(image.run("list", "runs", user=USER))


def test_an_environment_is_built_by_any_user(image):
    """The environment is that of a real framework, of about 150 MB."""
    told = said(image.run("run", "jax", "--models", "op:matmul/64x64x64", "--mode", "inference",
                          "--processes", "1", "--rounds", "1", "--block", "0.05", "--no-mfu",
                          user=USER))  # fmt: skip
    assert "proven" in told
    assert list(image.debian.at("/mbench/cache/mbench/environments").glob("jax-*/environment.json"))


def test_the_commands_of_the_readme_work_for_a_new_user(image):
    """They run in a copy of the checkout, as a user without rights; `compare` is only planned."""
    home = "/home/new"
    copy(files(), image.debian.at(f"{home}/mbench"))
    said(image.debian.run(f"chown -R 1000:1000 {home}"))
    text = (CHECKOUT / "README.md").read_text()
    commands = re.findall(r"^\$ (.*)$", text, re.MULTILINE)
    (install, *_) = (line for line in commands if "pip install ." in line)
    (compare, *_) = (line for line in commands if re.search(r"\bmbench compare", line))
    install = re.sub(r"(git clone|cd) [^&]*(&&|$)", "", install)
    line = " && ".join(dict.fromkeys((install, compare)))
    line = re.sub(r"(mbench compare [^&]*)", r"\1 --dry-run", line)
    told = said(image.debian.run(
        line, user=1000, folder=f"{home}/mbench",
        variables={"HOME": home, "PATH": f"{home}/mbench/.venv/bin:/usr/bin:/bin"},
    ))  # fmt: skip
    assert "1 comparison, 2 cases" in told
