"""The page on what Keras costs, which docs/keras_costs.py makes from a run."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "docs" / "keras_costs.py"


@pytest.fixture
def script(monkeypatch):
    spec = importlib.util.spec_from_file_location("keras_costs", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "BACKENDS", {"tiny": "flaky"})
    return module


def test_a_page_says_what_a_step_takes_beside_the_backend_alone(script, summary, proven):
    """In each of three processes, flaky takes about 1.5 times as long as tiny."""
    made = summary(
        seconds={
            "tiny": [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]],
            "flaky": [[1.5, 1.5], [1.52, 1.5], [1.5, 1.51]],
        },
        proofs={"tiny": proven.yes, "flaky": proven.yes},
    )
    made = replace(made, command=["mbench", "compare", "tiny@/a/python", "flaky@/b/python"])
    page = script.page(made)
    assert "$ mbench compare tiny flaky\n" in page
    assert page.count("| proven |") == 2
    assert "| tiny | 0.66" in page
    assert "+50% (+" in page or "+51% (+" in page


def test_a_ratio_the_other_way_round_is_turned(script, summary, proven):
    made = summary(
        seconds={"flaky": [[1.5], [1.5], [1.5]], "tiny": [[1.0], [1.02], [1.0]]},
        proofs={"tiny": proven.yes, "flaky": proven.yes},
    )
    assert "| tiny | 0.67" in script.page(made)


def test_a_case_that_was_not_measured_has_no_verdict(script, full):
    assert "| tiny | no verdict | - |" in script.page(
        replace(full, comparisons=[replace(p, ratio=None) for p in full.comparisons])
    )
