"""The first steps are run twice, from parameters that differ by a unit in the last place."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from cases import make_case
from mbench_tiny_flaky import FlakyRuntime

from mbench.contract.wire import Nudge
from mbench.proofs.proof_case import proof_work
from mbench.scenarios.find import prepared, work_of
from mbench.worker.batch_cycler import BatchCycler
from mbench.worker.perturbation import nudge

CASE = make_case(precision="fp32")


def nudged(case, rate=0.01):
    runtime = FlakyRuntime(device="cpu", threads=1)
    cycler = BatchCycler(
        prepared(runtime, work_of(case, proof=proof_work(case, learning_rate=rate)))
    )
    return cycler, nudge(cycler, Nudge(steps=5, changes_at=[2, 5]))


def test_both_series_are_told_step_by_step():
    cycler, found = nudged(CASE)
    for series in (found.canonical, found.nudged):
        assert [seen.step for seen in series] == [1, 2, 3, 4, 5]
        assert [seen.batch for seen in series] == [0, 1, 2, 3, 4]
        assert [bool(seen.changes) for seen in series] == [False, True, False, False, True]
    assert cycler.steps == 5


def test_they_lie_as_far_apart_as_a_unit_carries_them():
    _, found = nudged(CASE)
    assert found.canonical != found.nudged
    for one, other in zip(found.canonical, found.nudged, strict=True):
        assert other.loss == pytest.approx(one.loss, rel=1e-5)
        for name, sketch in one.changes.items():
            assert other.changes[name] == pytest.approx(sketch, rel=1e-3, abs=1e-3 * sketch[0])


def test_changes_are_those_since_the_series_began():
    """Otherwise, the nudge would count as a change: it is larger than a small step's update."""
    _, found = nudged(CASE, rate=1e-9)
    for one, other in zip(found.canonical, found.nudged, strict=True):
        for name, sketch in one.changes.items():
            assert other.changes[name][0] <= 2 * sketch[0] + 1e-7


def test_in_double_precision_the_unit_is_its_own():
    _, found = nudged(dataclasses.replace(CASE, precision="fp64"))
    assert found.canonical != found.nudged
    for one, other in zip(found.canonical, found.nudged, strict=True):
        assert other.loss == pytest.approx(one.loss, rel=1e-14)


def test_each_nudge_goes_another_way():
    runtime = FlakyRuntime(device="cpu", threads=1)
    cycler = BatchCycler(
        prepared(runtime, work_of(CASE, proof=proof_work(CASE, learning_rate=0.01)))
    )
    first, again, second = (
        nudge(cycler, Nudge(steps=3, changes_at=[3], number=n)) for n in (1, 1, 2)
    )
    assert first.canonical == again.canonical == second.canonical
    assert first.nudged == again.nudged != second.nudged


def test_the_unit_is_that_of_the_parameters_that_move():
    cycler, found = nudged(CASE)
    work = cycler.prepared.work
    units = [
        np.spacing(np.abs(work.workload.initial(tensor, seed=work.case.seed))).astype(np.float64)
        for tensor in work.workload.tensors()
        if tensor.trainable
    ]
    assert found.unit == pytest.approx(sum(np.sum(one**2) for one in units) ** 0.5)
    _, exact = nudged(dataclasses.replace(CASE, precision="fp64"))
    assert exact.unit == pytest.approx(found.unit * 2.0**-29)
