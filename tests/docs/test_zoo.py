"""The zoo's page says what a verification found."""

from __future__ import annotations

import importlib.util
import json
import sys
from itertools import product
from pathlib import Path

import pytest

from mbench.cli.builtin import mbench_workloads
from mbench.proofs.tolerances import EXACT
from mbench.workloads.operators import KINDS, OPERATORS
from mbench.workloads.operators.updates import UPDATES

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def zoo():
    spec = importlib.util.spec_from_file_location("zoo", DOCS / "zoo.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def proof(framework, model, *, mode="train", outcome="ok", reason="", errors=(), notes=()):
    findings = [{"check": check, "error": error} for check, error in errors]
    return {
        "framework": framework, "model": model, "mode": mode, "precision": "fp32",
        "outcome": outcome, "reason": reason,
        "proof": {"findings": findings, "notes": list(notes), "version": "1.2"} if errors else None,
    }  # fmt: skip


GOOD = (("parameters", 0.0), ("outputs", 1e-13), ("updates", 4e-12), ("flops", 0.02),
        ("loss", None), ("timed", 3e-7))  # fmt: skip


def test_a_row_per_model_a_column_per_framework(zoo):
    page = zoo.page(
        {
            "proofs": [
                proof("one", "small", errors=GOOD),
                proof("two", "small", outcome="unsupported", reason="two has no such layer"),
                proof("one", "large", errors=GOOD, notes=["proven with 2 layers"]),
                proof("two", "large", outcome="unsupported", reason="two has no such layer"),
            ]
        }
    )
    assert "2 of 4 cells are proven, 2 of them with today's code." in page
    assert "Model | one 1.2 | two\n---|---|---\n" in page
    assert "`small` | 4e-12 / 3e-07 | **unsupported** [1]\n" in page
    assert "`large` | 4e-12 / 3e-07 [2] | **unsupported** [1]\n" in page
    assert "1. two has no such layer\n2. proven with 2 layers\n" in page
    assert "--frameworks one,two --models zoo" in page


def test_a_cell_that_is_missing_is_left_open(zoo):
    page = zoo.page({"proofs": [proof("one", "a", errors=GOOD), proof("two", "b", errors=GOOD)]})
    assert "`a` | 4e-12 / 3e-07 | -\n`b` | - | 4e-12 / 3e-07\n" in page


def test_each_mode_has_a_row(zoo):
    page = zoo.page(
        {
            "proofs": [
                proof("one", "a", errors=GOOD),
                proof("two", "a", errors=GOOD),
                proof("one", "a", mode="inference", outcome="unsupported", reason="none"),
            ]
        }
    )
    assert "Model | Mode | one 1.2 | two 1.2\n---|---|---|---\n" in page
    assert "`a` | train | 4e-12 / 3e-07 | 4e-12 / 3e-07\n" in page
    assert "`a` | inference | **unsupported** [1] | -\n" in page


def test_the_page_of_operators_is_that_of_its_record(zoo):
    """It has every kind in both modes and five frameworks: a kind that was not verified shows."""
    recorded = json.loads(zoo.OPERATORS.with_suffix(".json").read_text())
    assert zoo.OPERATORS.read_text() == zoo.page(recorded, zoo.OPERATORS_HEAD)
    found = {(OPERATORS[p["model"]].config.kind, p["mode"], p["framework"]): p
             for p in recorded["proofs"]}  # fmt: skip
    frameworks = ("torch", "tf", "mxnet", "paddle", "jax")
    assert set(found) == set(product(KINDS, ("train", "inference"), frameworks))
    for cell, one in found.items():
        if one["outcome"] == "ok":
            check = "optimizer" if cell[0] in UPDATES else "outputs"
            errors = [f["error"] for f in one["proof"]["findings"] if f["check"] == check]
            assert len(errors) == 2, cell
            assert max(errors) <= EXACT, cell
        else:
            assert one["outcome"] == "unsupported", cell
            assert one["reason"], cell


def test_the_page_of_the_zoo_is_that_of_its_record(zoo):
    """It has every model in the five frameworks, each either proven or not provided yet."""
    recorded = json.loads(zoo.PAGE.with_suffix(".json").read_text())
    assert zoo.PAGE.read_text() == zoo.page(recorded)
    found = {(p["model"], p["framework"]): p for p in recorded["proofs"]}
    frameworks = ("torch", "tf", "mxnet", "paddle", "jax")
    assert set(found) == set(product(mbench_workloads(), frameworks))
    for cell, one in found.items():
        if one["outcome"] == "unsupported":
            assert one["reason"].startswith("not provided: "), cell
            continue
        assert one["outcome"] == "ok", cell
        (exact,) = one["proof"]["findings"]
        assert 0 <= exact["error"] <= EXACT, cell  # 0 where the reference file was written


def prove_again(cells):
    """How to prove cells again that are not of today's code."""
    models, frameworks = ({cell[at] for cell in cells} for at in (0, 1))
    return (
        f"{', '.join(f'{model} in {framework}' for model, framework in sorted(cells))}:"
        f" tox -e zoo -- --models {','.join(sorted(models))}"
        f"  # of {' '.join(sorted(frameworks))}, hours for all;\n"
        "python docs/zoo.py docs/zoo.json zoo.json  # without zoo.json, they are marked as earlier"
    )


def test_what_is_said_to_be_of_todays_code_is(zoo):
    recorded = json.loads(zoo.PAGE.with_suffix(".json").read_text())["proofs"]
    changed = {
        (one["model"], one["framework"])
        for one in recorded
        if one["current"] and one["code"] != zoo.code_of(one["framework"], one["model"])
    }
    assert not changed, f"the code has changed since these were proven: {prove_again(changed)}"


def test_cells_of_earlier_code_are_marked(zoo):
    proofs = [proof("one", "a", errors=GOOD), proof("two", "a", errors=GOOD)]
    page = zoo.page({"proofs": [{**proofs[0], "current": True}, {**proofs[1], "current": False}]})
    assert "`a` | 4e-12 / 3e-07 | *4e-12 / 3e-07*\n" in page
    assert "2 of 2 cells are proven, 1 of them with today's code." in page


def test_in_float64_alone_a_cell_holds_one_error(zoo):
    page = zoo.page({"proofs": [proof("one", "a", errors=GOOD[:-1])]})
    assert "`a` | 4e-12\n" in page


def test_later_files_replace_cells(zoo, tmp_path, monkeypatch):
    files = []
    for number, found in enumerate(
        (proof("one", "a", outcome="failed"), proof("one", "a", errors=GOOD))
    ):
        files.append(tmp_path / f"{number}.json")
        files[-1].write_text(json.dumps({"proofs": [found]}))
    monkeypatch.setattr(zoo, "PAGE", tmp_path / "zoo.md")
    monkeypatch.setattr(sys, "argv", ["zoo.py", *map(str, files)])
    assert zoo.main() == 0
    assert "1 of 1 cells are proven, 0 of them with today's code." in zoo.PAGE.read_text()
    kept = tmp_path / "zoo.json"
    (one,) = json.loads(kept.read_text())["proofs"]
    worst = [{"check": "exact", "error": 4e-12}, {"check": "timed", "error": 3e-7}]
    assert one["proof"]["findings"] == worst
    monkeypatch.setattr(sys, "argv", ["zoo.py", str(kept)])
    before = zoo.PAGE.read_text()
    assert zoo.main() == 0
    assert zoo.PAGE.read_text() == before


def test_a_failure_is_not_told_as_an_error(zoo):
    page = zoo.page({"proofs": [proof("one", "a", outcome="not-equal", reason="loss off by 1")]})
    assert "0 of 1 cells are proven, 0 of them with today's code." in page
    assert "`a` | **not-equal** [1]" in page
    assert "1. loss off by 1" in page
