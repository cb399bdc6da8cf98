"""The hints that a proof adds to its findings."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from mbench_tiny import TINY

from mbench.proofs.judge import CheckResult
from mbench.proofs.prover import Prover
from mbench.workloads.resnet import RESNET50


@pytest.mark.parametrize(("workload", "check", "error", "hinted"), [
    (TINY, "outputs", 1.0, True),
    (TINY, "outputs", 0.0, False),
    (TINY, "updates", 1.0, False),
    (RESNET50, "outputs", 1.0, False),
])  # fmt: skip
def test_a_models_own_reference_file_may_be_older_than_the_model(workload, check, error, hinted):
    """The hint is only for models with files of their own: mbench's are written together."""
    finding = CheckResult(check, error, 1e-9, "logits", "a note")
    said = str(Prover.hinted(SimpleNamespace(workload=workload), finding))
    assert ("write that again with: mbench new reference tiny-model" in said) == hinted
