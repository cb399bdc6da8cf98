"""Phases are compared with the whole step's reference, so lies about loss and gradients show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cases import make_case

from mbench.contract.wire import Observe
from mbench.proofs.passes import judge_phase
from mbench.proofs.proof_case import proof_case
from mbench.proofs.reference import PLAIN_RATE, find
from mbench.proofs.tolerances import CHANGES, EXACT, TIMED
from mbench.scenarios.find import prepared, resolve, work_of
from mbench.worker.batch_cycler import BatchCycler
from mbench.worker.evidence import look, observe

CLIP = 0.5
"""Less than the norm of tiny's gradients."""


@pytest.fixture(scope="module")
def steps_of():
    """Prepares a phase of tiny, or of flaky if there is a lie to tell; returns it and its case."""
    from mbench_tiny import Runtime
    from mbench_tiny_flaky import FlakyRuntime

    def steps_of(phase, *, precision="fp64", lie=""):
        case = proof_case(make_case(precision=precision, mode=phase))
        runtime = (FlakyRuntime if lie else Runtime)(device="cpu", threads=1)
        made = prepared(runtime, work_of(case))
        if lie:
            made.benchmark.tell(lie, lambda: None)
        return made, case

    return steps_of


def judged(made, case, *, clip_norm=None, expected=None, changed=None):
    workload, reference = resolve(case), find(case, resolve(case), drawn=False).plain
    (step,) = observe(made, Observe(seed=0, steps=1)).steps
    if changed:
        step = replace(step, outputs=changed(step.outputs))
    precision = case.precision
    gates = CHANGES.get(precision)
    return list(
        judge_phase(
            step, expected or reference, workload, phase=case.mode,
            backward=case.mode == "backward", clip_norm=clip_norm,
            gate=EXACT if gates is None else TIMED[precision], gates=gates,
        )
    )  # fmt: skip


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
@pytest.mark.parametrize("phase", ["forward", "backward"])
def test_an_honest_phase_is_proven(steps_of, phase, precision):
    found = judged(*steps_of(phase, precision=precision))
    assert all(finding.passed for finding in found), [str(finding) for finding in found]
    checks = {finding.check for finding in found}
    exact = {"loss", "updates"} if phase == "backward" else {"loss"}
    timed = {"timed", "gradients"} if phase == "backward" else {"timed"}
    assert checks == (exact if precision == "fp64" else timed)


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
@pytest.mark.parametrize(
    ("lie", "phase", "check"),
    [("unscaled", "backward", ("updates", "gradients")), ("doubled", "forward", ("loss", "timed"))],
)
def test_a_lie_about_a_phase_shows(steps_of, lie, phase, check, precision):
    found = judged(*steps_of(phase, precision=precision, lie=lie))
    failed = {finding.check for finding in found if not finding.passed}
    assert failed == {check[precision == "fp32"]}


def test_a_gradient_that_is_not_handed_out_shows(steps_of):
    made, case = steps_of("backward")
    (finding,) = judged(made, case, changed=lambda found: {"loss": found["loss"]})
    assert not finding.passed
    assert "bias, weight" in str(finding)
    made, case = steps_of("forward")
    (finding,) = judged(made, case, changed=lambda found: {**found, "weight": found["loss"]})
    assert not finding.passed


def test_gradients_are_clipped_before_they_are_held_against_clipped_ones(steps_of):
    made, case = steps_of("backward")
    reference = find(case, resolve(case), drawn=False).plain
    norm = np.linalg.norm(reference.tensors[:, 0]) / PLAIN_RATE
    assert norm > CLIP
    clipped = replace(reference, tensors=reference.tensors * CLIP / (norm + 1e-6))
    assert all(one.passed for one in judged(made, case, clip_norm=CLIP, expected=clipped))
    assert not all(one.passed for one in judged(made, case, expected=clipped))


def test_all_gradients_are_one_piece_of_evidence(steps_of):
    from mbench.contract.wire import Look

    made, case = steps_of("backward")
    made.benchmark.load_parameters(resolve(case).parameters(seed=0))
    cycler = BatchCycler(made)
    cycler.step()
    seen = look(cycler, Look(changes=False))
    assert set(seen.outputs) == {"loss", "gradients"}
    parts = [array for name, array in made.benchmark.outputs().items() if name != "loss"]
    whole = np.sqrt(sum(np.sum(array.astype(float) ** 2) for array in parts))
    assert seen.outputs["gradients"][0] == pytest.approx(whole)
    assert seen.loss is None
