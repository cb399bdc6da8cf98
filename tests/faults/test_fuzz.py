"""A few hundred mutations of every kind of file and message; fuzz.py can make any number."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

COUNT = 500


@pytest.fixture
def fuzz(monkeypatch):
    spec = importlib.util.spec_from_file_location("fuzz", Path(__file__).with_name("fuzz.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module.html, "template", module.html.template)  # fuzz() replaces it
    return module.fuzz


def test_mutations_end_in_a_value_or_in_one_line(fuzz, tmp_path, monkeypatch):
    monkeypatch.setenv("MBENCH_PROOFS", "")
    monkeypatch.setenv("MBENCH_CALIBRATIONS", "")
    inside = tmp_path / "inside"
    inside.mkdir()
    ends, wrong = fuzz(COUNT, inside, seed=2)
    assert wrong == []
    assert sum(ends.values()) == COUNT
    assert {end.partition(":")[0] for end in ends} == {
        "run", "message", "proof", "calibration", "suite",
    }  # fmt: skip
