"""One small model of each family is proven, in single and in double precision."""

import pytest

import mbench


@pytest.mark.parametrize("model", ["lstm-tiny", "resnet10"])
def test_a_small_model_is_proven(model):
    found = mbench.verify("mine", models=model, mode="inference", precision="fp32,fp64")
    assert len(found.proofs) == 2
    assert found.ok, found
