"""The small model is proven in both modes, in single and in double precision."""

import mbench


def test_the_small_model_is_proven():
    proofs = mbench.verify(
        "mine", models="lstm-small", mode="train,inference", precision="fp32,fp64"
    )
    assert len(proofs.proofs) == 4
    assert proofs.ok, proofs
