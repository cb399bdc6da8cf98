"""The model is proven in both modes, in single and in double precision."""

import mbench


def test_the_model_is_proven():
    found = mbench.verify(
        "torch", models="perceptron", mode="train,inference", precision="fp32,fp64"
    )
    assert len(found.proofs) == 4
    assert found.ok, found
