"""PyTorch agrees in float64 with reference files of the zoo.

All parts of a proof are made in this process, and each parameter is drawn once.
"""

from __future__ import annotations

import functools
import importlib.util
import json
from pathlib import Path

import pytest
from families import QUICK
from lies import Proofs, draws_remembered

from mbench.cli.builtin import mbench_workloads

ROOT = Path(__file__).parents[3]
PARTS = {"inference": 2, "plain": 1, "own": 3}
"""Parts of a proof, with the number of sets of parameters, or of steps, of each."""
LARGE = 3e8
"""Models of more parameters take 10 GB in float64 with an optimizer: `tox -e zoo` proves those."""
ELSEWHERE = "resnet50"
"""The tests of lies prove this model's parts beside their lies."""
PART = 6
"""Of the other models, one in so many is proven; a change of their code changes the choice."""


@functools.cache
def digest():
    spec = importlib.util.spec_from_file_location("digest", ROOT / ".ci" / "digest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def proven(model):
    """The workload of the model's proof."""
    return digest().at_proof(model)[0]


def chosen():
    """Yields quick models, those that changed since the zoo's page was made, and some others."""
    record = json.loads((ROOT / "docs" / "zoo.json").read_text(encoding="utf-8"))["proofs"]
    known = {model: set() for model in mbench_workloads()}
    for cell in record:
        if cell["facts"]:
            known[cell["model"]].add(cell["facts"])
    for model, facts in known.items():
        parameters = proven(model).parameter_count()
        if parameters > LARGE or model == ELSEWHERE:
            continue
        quick = parameters < QUICK
        changed = bool(facts) and digest().facts_of(model) not in facts
        if quick or changed or int(digest().code_of("torch", model), 16) % PART == 0:
            yield model


@pytest.fixture(scope="module")
def proofs():
    return Proofs("mbench_pytorch.runtime:Runtime", "eager", timed="fp32")


@pytest.mark.parametrize("model", list(chosen()))
def test_the_reference_file_of_a_model(proofs, model, monkeypatch):
    with draws_remembered(monkeypatch):
        for part, count in PARTS.items():
            proofs.build(model, part)
            findings = list(proofs.findings(model, part, count))
            assert not [str(finding) for finding in findings if not finding.passed]
            proofs.session.cycler = None  # the next part needs its memory
