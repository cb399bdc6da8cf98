"""The second grade of proof, for the tiny framework as if it had no float64."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cases import make_case
from mbench_tiny import Flaky, Tiny

from mbench.contract.wire import Observation, StepEvidence
from mbench.engine.outcome import CaseEnded
from mbench.environments.locate import find
from mbench.proofs.judge import judge_shown
from mbench.proofs.prove import prove
from mbench.proofs.reference import SEEDS, load
from mbench.results.proof import PROVEN, SHOWN
from mbench.sdk.plugin import Lack
from mbench.spec.arm import parse

NO_FLOAT64 = Lack("it has no float64", precisions=("fp64",))


class Single(Tiny):
    lacks = (*Tiny.lacks, NO_FLOAT64)


class SingleFlaky(Flaky):
    lacks = (*Flaky.lacks, NO_FLOAT64)


def proof(adapter, tmp_path, **changes):
    environment = find(
        parse(adapter.name), adapter, accelerator="cpu", provision=False, report=print
    )
    case = make_case(model="tiny-model", workload="mbench_tiny:TINY", **changes)
    return prove(
        adapter, environment, case, log=tmp_path / "log", timeout=60, report=print, fresh=True
    )


def checks(proof):
    return list(dict.fromkeys(finding.check for finding in proof.findings))


def test_float64_is_the_first_grade(tmp_path):
    found = proof(Tiny(), tmp_path, mode="inference")
    assert (found.proven, found.grade) == (True, PROVEN)
    assert "shown" not in checks(found)


@pytest.mark.parametrize("mode", ["inference", "train"])
def test_without_float64_it_is_shown_in_fp32(tmp_path, mode):
    found = proof(Single(), tmp_path, mode=mode)
    assert found.proven, found.failures
    assert found.grade == SHOWN
    assert checks(found)[:4] == ["parameters", "shown", "flops", "timed"]
    assert not {"outputs", "loss", "updates", "optimizer"} & set(checks(found))
    assert found.notes[0] == "Tiny has no float64 for tiny-model here"
    assert 0 < max(f.error for f in found.findings if f.check == "shown") < 1e-6


def test_half_a_proof_is_not_taken_for_the_whole(tmp_path, monkeypatch):
    """In fp32, the shown and the timed half have the same case, so they need names of their own."""
    monkeypatch.setenv("MBENCH_PROOFS", str(tmp_path / "proofs"))
    proof(Single(), tmp_path, mode="inference")
    assert len(list((tmp_path / "proofs").glob("*-shown.json"))) == 1
    assert len(list((tmp_path / "proofs").glob("*.json"))) == 2


def test_a_lie_is_not_shown(tmp_path, monkeypatch):
    monkeypatch.setenv("FLAKY", "frozen")
    found = proof(SingleFlaky(), tmp_path, mode="train")
    assert not found.proven
    assert any(failure.startswith("gradients: ") for failure in found.failures)


def observed(*sketch):
    step = StepEvidence(loss=None, outputs={"logits": list(sketch)}, parameters={})
    return Observation(trainable_parameters=1, counted_flops=None, shapes={}, steps=[step])


def judged(errors):
    """The findings if the outputs of each set are off by the set's error."""
    expected = {seed: {"logits": np.array([1.0, 1, 0, 0, 0, 0])} for seed in range(len(errors))}
    return list(judge_shown([observed(1.0, 1 + error, 0, 0, 0, 0) for error in errors], expected))


def test_rounding_passes():
    assert all(finding.passed for finding in judged([1e-6, 0.0, 2e-6]))


def test_a_set_that_is_off_is_named():
    (finding,) = judged([1e-7, 2e-5, 1e-7])
    assert not finding.passed
    assert finding.where == "output logits of set 2"


def test_what_is_small_in_each_set_but_in_all_of_them_is_no_rounding():
    each, together = judged([8e-6] * 20)
    assert each.passed
    assert not together.passed
    assert together.where == "output logits of all sets together"


def test_a_reference_file_of_two_sets_does_not_do(tmp_path, monkeypatch):
    def of_two(*given):
        found = load(*given)
        return replace(found, outputs={seed: found.outputs[seed] for seed in SEEDS})

    monkeypatch.setattr("mbench.proofs.reference.load", of_two)
    with pytest.raises(CaseEnded, match="mbench new reference tiny-model") as caught:
        proof(Single(), tmp_path, mode="inference")
    assert caught.value.outcome == "unsupported"
