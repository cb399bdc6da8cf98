"""Real documents agree with docs/results-schema.md, which is mostly generated from the types."""

from __future__ import annotations

import json
import os
import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pytest
from fake_nvml import FakeGpu, FakeNvml
from support import commands

from mbench.contract.axes import AXES
from mbench.contract.device import Check
from mbench.machine.nvml import Gpu
from mbench.reports.formats import csv
from mbench.results import events
from mbench.results.encoding import encode
from mbench.results.events import EVENTS
from mbench.results.evidence import Rounding
from mbench.results.run import load_run
from mbench.results.summary import analyse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE = "docs/results-schema.md"
SUITE = """
title = "both modes; the best compiler in one"
frameworks = ["tiny", "flaky"]
[protocol]
name = "adaptive"
processes = 3
rounds = 2
[[sweep]]
models = ["tiny-model"]
compiler = ["best"]
[[sweep]]
models = ["tiny-model"]
mode = ["inference"]
precision = ["fp32", "bf16"]
"""
TYPES: dict[str, Any] = {
    "string": str, "integer": int, "number": (int, float), "boolean": bool, "object": dict,
    "null": type(None),
}  # fmt: skip


def mbench(folder: Path, *arguments: str) -> str:
    done = commands.mbench(
        *arguments,
        cwd=folder,
        env={
            **os.environ,
            "MBENCH_CALIBRATIONS": str(folder / "calibrations"),
            "MBENCH_PROOFS": str(folder / "proofs"),
            "MBENCH_RESULTS": "results",
        },
    )
    assert done.returncode in (0, 1), done.stderr  # 1: the case that is unsupported by design
    return done.stdout


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A run with cases of both modes that were measured, and some that are unsupported."""
    folder = tmp_path_factory.mktemp("run")
    mbench(
        folder, "calibrate", "tiny", "--models", "tiny-model", "--processes", "3", "--rounds", "1",
        "--block", "0.05", "--threads", "1", "--no-mfu", "--results", "calibration",
    )  # fmt: skip
    (folder / "suite.toml").write_text(SUITE)
    command = ["run", "suite.toml", "--builds", "2", "--block", "0.05", "--threads", "1"]
    mbench(folder, *command)
    (path,) = (folder / "results").glob("*/")
    mbench(folder, *command, "--resume", path.name)
    system = load_run(path).header.system  # as of another machine
    far = {one.name: 0.1 for one in fields(Rounding) if one.type == "Real"}  # as if two differed
    then = {"started": "then", "ratio": 1.0, "low": 0.9, "high": 1.1, "process_pairs": 3}
    busy = Check(name="other load", status="warn", found="all", hint="end")  # as if others ran
    before = [events.PastRatio(case=1, baseline=0, run=of, **then) for of in ("a", "b")]
    more = (events.Node(case=0, host="b", ranks=[0], system=system), events.Rounding(case=0, **far),
            events.OperatorCounts(comparison=0, counts={"resnet50": 3}), *before,
            events.OtherMbench(pid=1, since="then"),
            events.Absence(ended="then", seconds=8.0, what="worker", host="b", pid=1, case=0,
                           process=0, round=0), events.Surroundings(checks=[busy]),
            events.DataSet(comparison=0, folder="/p", files=9, classes=0, names="ab", digest="cd",
                           digest_of="sizes"),
            events.Pixels(case=0, grade="equal", largest=0.0, mean=0.0, psnr=None, failures=[]),
            events.PartBlock(case=0, process=0, round=0, part="step", steps=4, nanoseconds=5),
            )  # fmt: skip
    with (path / "run.jsonl").open("a") as file:
        file.writelines(encode(event) + "\n" for event in more)
    return path


@pytest.fixture(scope="module")
def document(run) -> dict[str, Any]:
    return analyse(load_run(run)).to_json()


def rows(page: str, *, beginning: str, heading: str) -> list[list[str]]:
    """The rows of all tables under `heading` whose columns begin as given."""
    found, inside = [], False
    section = page.partition(f"\n{heading}\n")[2] if heading else page
    if heading:
        section = re.split(r"\n##+ ", section)[0]
    for line in section.splitlines():
        if line.startswith(beginning):
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not line.startswith("|---"):
            found.append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def axes(page: str) -> dict[str, str]:
    """Types of the axes by name."""
    found = rows(page, beginning="| Axis |", heading="## Axes")
    return {row[0].strip("`"): row[1] for row in found}


def documented(page: str, *, verify: bool = False) -> dict[str, str]:
    """Types by path: of the main document, or of the one that mbench verify prints."""
    part = "\n## `mbench verify`\n"
    before, _, after = page.partition(part)
    text = after if verify else before
    types = {}
    for field, kind, _, meaning in rows(text, beginning="| Field | Type |", heading=""):
        path, less = field.strip("`"), re.findall(r"`(\w+)`", meaning.partition(" but ")[2])
        if "<name>" in path:
            continue  # of a record in a map, which is not looked into
        if not path.endswith("<axis>"):
            types[path] = kind
            continue
        types |= {path.replace("<axis>", n): k for n, k in axes(page).items() if n not in less}
    system = {path: kind for path, kind in types.items() if path.startswith("system.")}
    return {**types, **{f"cases[].nodes[].{path}": kind for path, kind in system.items()}}


def walk(value: Any, path: str, types: dict[str, str]) -> Iterator[tuple[str, Any]]:
    """Every field of a document with its value; maps are not looked into."""
    if isinstance(value, dict) and not types.get(path, "").startswith("map"):
        for name, inner in value.items():
            at = f"{path}.{name}" if path else name
            yield at, inner
            yield from walk(inner, at, types)
    elif isinstance(value, list):
        for inner in value:
            if isinstance(inner, dict):
                yield from walk(inner, f"{path}[]", types)


def fits(value: Any, declared: str) -> bool:
    if " or " in declared:
        return any(fits(value, part) for part in declared.split(" or "))
    if declared.startswith("array of "):
        item = declared.removeprefix("array of ")
        return isinstance(value, list) and all(fits(v, item) for v in value)
    if declared.startswith("map of "):
        item = declared.removeprefix("map of ")
        return isinstance(value, dict) and all(fits(v, item) for v in value.values())
    if declared in ("integer", "number") and isinstance(value, bool):
        return False
    return isinstance(value, TYPES[declared])


def compare(found: dict[str, Any], types: dict[str, str]) -> None:
    for path, value in walk(found, "", types):
        assert path in types, f"{path} is not documented"
        assert fits(value, types[path]), f"{path} is {value!r:.80}, not {types[path]}"


def test_every_field_is_documented_with_its_type(document, pages):
    clock = {"GetApplicationsClock": 1500, "GetMigMode": [1, 1]}
    facts = Gpu(FakeNvml(), FakeGpu(**clock)).facts()
    types = documented(pages[PAGE])
    assert {f"system.gpus[].{name}" for name in facts} <= set(types)
    compare(document, types)


def test_the_page_has_every_axis_in_its_order(pages):
    assert list(axes(pages[PAGE])) == [axis.name for axis in AXES]


def test_the_document_is_what_the_command_prints(run, document):
    text = mbench(run.parents[1], "show", "--format", "json")
    assert json.loads(text) == json.loads(json.dumps(document))


def test_the_document_of_a_proof(tmp_path, pages):
    types = documented(pages[PAGE], verify=True)
    above = documented(pages[PAGE])
    prefix = "cases[].equal_work."
    types |= {
        f"proofs[].proof.{path.removeprefix(prefix)}": kind
        for path, kind in above.items()
        if path.startswith(prefix)
    }
    text = mbench(
        tmp_path, "verify", "--frameworks", "tiny", "--models", "tiny-model",
        "--precision", "fp32,bf16", "--threads", "1", "--format", "json",
    )  # fmt: skip
    compare(json.loads(text), types)


def test_the_columns_of_csv(run, pages):
    cells = [row[0] for row in rows(pages[PAGE], beginning="| Column |", heading="## CSV")]
    axis = " ".join(f"`{name}`" for name in axes(pages[PAGE]))
    names = re.findall(r"`([^`]+)`", " ".join(cells).replace("`<axis>`", axis))
    assert names == csv(analyse(load_run(run))).splitlines()[0].split(",")


def documented_of(page: str, event: str) -> list[str]:
    return [
        row[0].strip("`")
        for row in rows(page, beginning="| Field | Type |", heading=f"## `{event}`")
    ]


def test_the_events_of_a_run_file(run, pages):
    page = pages["docs/run-file.md"]
    table = {
        name: {field for field in documented_of(page, name) if not re.search(r"[.\[]", field)}
        for name in EVENTS
    }
    found: dict[str, set[str]] = {}
    for line in (run / "run.jsonl").read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        found.setdefault(event.pop("event"), set()).update(event)
    assert found == table
