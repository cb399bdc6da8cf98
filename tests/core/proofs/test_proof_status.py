"""A model's proof status in a framework is what mbench verify would find remembered."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mbench.machine.cores import default_threads
from mbench.proofs.cache import ProofStatus, proof_statuses

VERIFY = [
    sys.executable,
    "-m",
    "mbench",
    "verify",
    "--frameworks",
    "tiny",
    "--models",
    "tiny-model",
]


@pytest.fixture
def verified():
    def verified(*arguments):
        done = subprocess.run([*VERIFY, *arguments], check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    return verified


def test_a_proof_shows_in_its_own_framework_only(plugins, verified):
    models = ["tiny-model", "resnet18"]
    before = proof_statuses(plugins, models)
    assert before["tiny-model", "tiny"] == ProofStatus("not proven yet")
    assert before["resnet18", "tiny"] == ProofStatus(
        "unsupported", "not provided: Tiny's adapter has no resnet model"
    )
    verified()
    after = proof_statuses(plugins, models)
    assert after["tiny-model", "tiny"] == ProofStatus("proven")
    assert after["tiny-model", "flaky"] == ProofStatus("not proven yet")
    assert set(after) == {(model, name) for model in models for name in ("tiny", "flaky")}


def test_a_proof_of_another_kind_is_none(plugins, verified):
    verified("--mode", "inference")
    verified("--threads", str(default_threads().count + 1))
    assert proof_statuses(plugins, ["tiny-model"])["tiny-model", "tiny"].word == "not proven yet"
