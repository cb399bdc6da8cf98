"""What the adapter says it supports: an answer to every case, and a reason with every no."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mbench.contract.adapter import Support
from mbench.contract.precision import PRECISIONS
from mbench.scenarios.find import SCENARIOS

if TYPE_CHECKING:
    from mbench.contract.adapter import Adapter
    from mbench.contract.case import Case
    from mbench.testing.subject import Subject


def check(answer: Support, case: Case) -> None:
    assert isinstance(answer, Support), case
    if not answer.supported:
        assert answer.reason.strip() == answer.reason != "", f"no reason for {case}"
        assert "\n" not in answer.reason
        assert len(answer.reason) <= 200


def test_every_case_has_an_answer(adapter: Adapter, subject: Subject) -> None:
    axes = itertools.product(
        subject.workloads.items(), SCENARIOS, PRECISIONS, adapter.compilers, adapter.devices
    )
    for (model, workload), mode, precision, compiler, device in axes:
        case = replace(
            subject.case(), model=model, workload=workload, sizes={},
            mode=mode, precision=precision, compiler=compiler, device=device,
        )  # fmt: skip
        check(adapter.supports(case), case)


@pytest.mark.parametrize(
    "changes", [{"precision": "int3"}, {"device": "abacus"}, {"mode": "dream"}], ids=str
)
def test_words_that_nobody_knows_are_refused(
    adapter: Adapter, subject: Subject, changes: dict[str, str]
) -> None:
    case = replace(subject.case(), **changes)  # type: ignore[arg-type]
    answer = adapter.supports(case)
    check(answer, case)
    assert not answer.supported


def test_the_first_compiler_infers_what_it_trains_in_single_precision(
    adapter: Adapter, subject: Subject
) -> None:
    """An adapter that trains nothing must infer."""
    for mode in {subject.case().mode, "inference"}:
        answer = adapter.supports(replace(subject.case(), mode=mode))
        assert answer.supported, answer.reason
