"""The proof of equal work for the smallest model: every loss, gradient and update in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.proofs.prove import prove

if TYPE_CHECKING:
    from mbench.testing.subject import Subject


def test_the_smallest_model_is_proven(subject: Subject) -> None:
    proof = prove(
        subject.adapter,
        subject.environment,
        subject.case(),
        log=subject.log,
        timeout=900.0,
        report=print,
        fresh=True,
    )
    assert proof.proven, "\n".join(proof.failures)
