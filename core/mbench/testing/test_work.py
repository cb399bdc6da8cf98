"""What a prepared case holds and does: its parameters, its loss, and that it starts over."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from mbench.contract import wire
from mbench.proofs.judge import judge_parameters
from mbench.proofs.proof_case import proof_work
from mbench.scenarios.find import resolve
from mbench.testing.subject import ended, observe
from mbench.testing.tampered import PARAMETERS, tampered

if TYPE_CHECKING:
    from mbench.contract.wire import Observation
    from mbench.plugins.launcher import Worker
    from mbench.testing.subject import Subject


def losses(seen: Observation) -> list[float]:
    found = [step.loss for step in seen.steps]
    assert all(loss is not None and math.isfinite(loss) for loss in found)
    return found  # type: ignore[return-value]


def test_parameters_are_the_workloads(subject: Subject, worker: Worker) -> None:
    case = subject.case()
    prepared = worker.prepare(case)
    finding = judge_parameters(observe(worker), resolve(case))
    assert finding.passed, str(finding)
    assert prepared.trainable_parameters == resolve(case).parameter_count()


def test_what_is_loaded_is_read_back(subject: Subject, worker: Worker) -> None:
    """At a learning rate of 0, no parameter changes."""
    case = subject.case(mode="train")
    worker.prepare(case, work=proof_work(case, learning_rate=0.0))
    (step,) = observe(worker).steps
    trainable = [tensor.name for tensor in resolve(case).tensors() if tensor.trainable]
    changed = [name for name in trainable if step.parameters[name][0] != 0]
    assert not changed


def test_loading_starts_over(subject: Subject, worker: Worker) -> None:
    """Momentum, moments and step counts are forgotten, and parameters are the new ones."""
    case = subject.exact_case(mode="train")
    worker.prepare(case, work=proof_work(case))
    first, other, again = (losses(observe(worker, seed=seed, steps=3)) for seed in (0, 1, 0))
    assert again == pytest.approx(first, rel=1e-9)
    assert other != pytest.approx(first, rel=1e-6), "the loss does not change with the parameters"
    assert len(set(first)) == 3, "the loss does not change with the updates"


def test_the_learning_rate_is_the_one_asked_for(subject: Subject, worker: Worker) -> None:
    case = subject.exact_case(mode="train")
    optimizer = proof_work(case).optimizer
    assert optimizer is not None
    changes = []
    for factor in (1, 2):
        worker.prepare(case, work=proof_work(case, learning_rate=factor * optimizer.learning_rate))
        (step,) = observe(worker).steps
        trainable = [tensor.name for tensor in resolve(case).tensors() if tensor.trainable]
        changes.append(np.linalg.norm([step.parameters[name][0] for name in trainable]))
    assert changes[1] == pytest.approx(2 * changes[0], rel=1e-6)


def test_the_data_are_those_of_the_seed(subject: Subject, worker: Worker) -> None:
    found = []
    for seed in (0, 1):
        case = subject.case(mode="train", seed=seed)
        worker.prepare(case)
        found += losses(observe(worker, seed=0))
    assert found[0] != pytest.approx(found[1], rel=1e-6)


def test_inference_repeats_itself_and_follows_the_parameters(
    subject: Subject, worker: Worker
) -> None:
    case = subject.case(mode="inference", dropout=True)
    worker.prepare(case)
    first, same, other = (
        {name: np.array(sketch) for name, sketch in seen.steps[-1].outputs.items()}
        for seen in (
            observe(worker, steps=1),
            observe(worker, steps=2),
            observe(worker, seed=1),
        )
    )
    assert first, "inference has no outputs"
    for name, sketch in first.items():
        near = 1e-4 * sketch[0]
        assert np.linalg.norm(same[name] - sketch) < near, f"{name} varies"
        assert np.linalg.norm(other[name] - sketch) > near, f"{name} is kept"


def test_dropout_is_active_in_training(subject: Subject) -> None:
    """Every step has new masks."""
    subject.case(mode="train")
    pairs = ((case, replace(case, dropout=True)) for case in subject.cases)
    dropping = (active for case, active in pairs if resolve(active).config != resolve(case).config)
    case = next(dropping, None)
    if case is None:
        pytest.skip("no model that this adapter supports has dropout")
    with subject.worker(case) as worker:
        worker.prepare(case)
        once, again = (losses(observe(worker)) for _ in range(2))
    assert once != again, "the loss does not vary: dropout is off, or its masks are kept"


@pytest.mark.parametrize("fault", PARAMETERS)
def test_parameters_of_another_model_are_refused(
    subject: Subject, worker: Worker, fault: str
) -> None:
    end = ended(worker, tampered(subject.case(), fault))
    assert end.outcome == "failed"
    assert end.reason.startswith("ValueError: "), "load_parameters raises ValueError"


def test_peak_memory_is_plausible(subject: Subject, worker: Worker) -> None:
    case = subject.case()
    worker.prepare(case)
    worker.run(1)
    peak = worker.ask(wire.Memory(), wire.MemoryUsed).peak_bytes
    if peak is None:
        pytest.skip("its allocator does not report what it has allocated")
    # In single precision: parameters and gradients, but not everything ever allocated.
    least = 8 if case.mode == "train" else 4
    assert least * resolve(case).parameter_count() < peak < 2**40
