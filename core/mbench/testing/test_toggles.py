"""Precisions and compilers: each takes effect, or is unsupported and says why."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from mbench.contract import wire
from mbench.contract.precision import PRECISIONS
from mbench.engine.outcome import CaseEnded
from mbench.proofs.proof_case import exact_case
from mbench.proofs.tolerances import TIMED
from mbench.testing.subject import observe

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mbench.contract.case import Case
    from mbench.plugins.launcher import Worker
    from mbench.testing.subject import Subject

LEAST_EFFECT = {"fp64": 0.0, "fp32": 1e-9, "tf32": 1e-6}
HALF = 1e-4
"""The smallest effect on outputs: half precision changes them by 1e-3, single by 1e-7."""


def outputs(worker: Worker, case: Case) -> dict[str, np.ndarray]:
    """Sketches of outputs by name; skips the test if the case proves to be unsupported."""
    try:
        worker.prepare(case)
    except CaseEnded as end:
        if end.outcome != "unsupported":
            raise
        pytest.skip(end.reason)
    (step,) = observe(worker).steps
    return {name: np.array(sketch) for name, sketch in step.outputs.items()}


def in_turn(worker: Worker) -> list[dict[str, np.ndarray]]:
    """What a step on each batch leaves: sketches of outputs, or the loss in place of a sketch."""
    found: dict[int, dict[str, np.ndarray]] = {}
    while True:
        worker.run(1)
        seen = worker.ask(wire.Look(), wire.Seen)
        left = {name: np.array(sketch) for name, sketch in seen.outputs.items()}
        found[seen.batch] = left or {"loss": np.array([seen.loss, seen.loss])}
        if seen.batch == 0:
            return list(found.values())


def worst(found: Mapping[str, np.ndarray], exact: Mapping[str, np.ndarray]) -> float:
    assert set(found) == set(exact)
    return max(
        float(np.linalg.norm(found[name][1:] - sketch[1:]) / sketch[0])
        for name, sketch in exact.items()
    )


@pytest.fixture(scope="module")
def exact(subject: Subject) -> dict[str, np.ndarray]:
    """The outputs in float64, or in fp32 if float64 is unsupported."""
    case = exact_case(subject.adapter, subject.case(mode="inference"))
    with subject.worker(case) as worker:
        return outputs(worker, case)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_precision_takes_effect(
    subject: Subject, exact: dict[str, np.ndarray], precision: str
) -> None:
    supported = [
        case
        for compiler in subject.adapter.compilers
        if subject.adapter.supports(
            case := replace(
                subject.case(), mode="inference", precision=precision, compiler=compiler
            )
        ).supported
    ]
    if not supported:
        pytest.skip(f"no compiler of this adapter has {precision} here")
    case = supported[0]
    if exact_case(subject.adapter, case).precision != "fp64":
        pytest.skip("there is no float64 to compare it with")
    with subject.worker(case) as worker:
        error = worst(outputs(worker, case), exact)
    assert error >= LEAST_EFFECT.get(precision, HALF), "too exact for the requested precision"
    assert error <= TIMED[precision]


@pytest.fixture(scope="module")
def worker(subject: Subject, compiler: str) -> Iterator[Worker]:
    """One worker for both modes with a compiler."""
    with subject.worker(replace(subject.case(), compiler=compiler)) as worker:
        yield worker


@pytest.mark.parametrize("mode", ["train", "inference"])
def test_a_compiler_takes_each_batch_and_does_the_same_after_loading(
    subject: Subject, worker: Worker, exact: dict[str, np.ndarray], compiler: str, mode: str
) -> None:
    case = subject.case(compiler=compiler, mode=mode)

    def fastest() -> float:
        return min(worker.run(1).nanoseconds[0] / 1e9 for _ in range(5))

    found = outputs(worker, case)
    turns = [in_turn(worker) for _ in range(2)]
    before = fastest()
    observe(worker)
    # A lost optimisation stays lost; another program's load comes and goes.
    as_before = any(fastest() < 1.5 * before + 0.05 for _ in range(5))
    for first, again in zip(*turns, strict=True):
        assert mode == "train" or worst(again, first) <= TIMED["fp32"]
    some, other = turns[1][:2]
    assert worst(some, other) > 1e-4, "the batch is kept, or is a constant in compiled code"
    assert mode == "train" or worst(found, exact) <= TIMED["fp32"]
    assert as_before, "steps are slower after load_parameters: compiled again?"
