"""Of models that are proven with fewer layers, the whole model is compared by shape."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from cases import make_case

from mbench.contract import wire
from mbench.engine.outcome import CaseEnded
from mbench.proofs.exact import full_size
from mbench.proofs.proof_case import proof_case, proof_work
from mbench.scenarios.find import resolve

CASE = proof_case(
    make_case(model="gpt2-large", workload="mbench.workloads.gpt2:MODELS", precision="fp64")
)
WORK = proof_work(CASE)


def judged(answer):
    """The finding and the notes if a worker reports these shapes, or fails with this CaseEnded."""
    asked = []

    def ask(message, kind):
        asked.append(message.case)
        assert kind is wire.ShapesFound
        if isinstance(answer, CaseEnded):
            raise answer
        return wire.ShapesFound(shapes=answer)

    notes: list[str] = []
    finding = full_size(SimpleNamespace(ask=ask), CASE, notes, smaller="2 layers")
    assert asked == [CASE]
    return finding, notes


def shapes():
    whole = resolve(CASE)
    return {tensor.name: list(tensor.shape) for tensor in whole.tensors()}


def test_the_proof_is_of_two_layers():
    assert resolve(CASE, WORK).config.layers == 2
    assert len(resolve(CASE, WORK).tensors()) == 2 + 2 * 12 + 2
    assert len(shapes()) == 2 + 36 * 12 + 2


def test_a_whole_model_of_the_right_shapes():
    finding, notes = judged(shapes())
    assert finding.passed
    assert finding.error == 0
    assert notes == ["proven with 2 layers of the same code; all 774,030,080 parameters by shape"]


def test_a_layer_too_few():
    finding, _ = judged({n: s for n, s in shapes().items() if not n.startswith("transformer.h.35")})
    assert not finding.passed
    assert "transformer.h.35.ln_1.weight is missing" in str(finding)


def test_a_framework_that_cannot_tell():
    finding, notes = judged(CaseEnded("unsupported", "it allocates what it builds"))
    assert finding.passed
    assert finding.error is None
    assert "full size not checked: it allocates what it builds" in notes[0]


def test_a_worker_that_falls_short():
    with pytest.raises(CaseEnded, match="out of luck"):
        judged(CaseEnded("crashed", "out of luck"))
