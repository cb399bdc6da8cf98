"""Faults: each ends its case, with a typed outcome and a reason, but not the worker."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import psutil
import pytest

from mbench.scenarios.find import resolve
from mbench.testing.subject import ended, observe
from mbench.testing.tampered import tampered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.plugins.launcher import Worker
    from mbench.testing.subject import Subject


@pytest.fixture
def survivor(subject: Subject, worker: Worker) -> Iterator[Worker]:
    """A worker that must be able to run an honest case afterwards."""
    yield worker
    worker.prepare(subject.case())
    observe(worker)


@pytest.mark.parametrize("changes", [{"compiler": "none-such"}, {"precision": "int3"}], ids=str)
def test_what_the_build_lacks_is_unsupported(
    subject: Subject, survivor: Worker, changes: dict[str, str]
) -> None:
    """The worker refuses too: another framework version may lack what the adapter names."""
    end = ended(survivor, replace(subject.case(), **changes))  # type: ignore[arg-type]
    assert end.outcome == "unsupported", end
    assert end.reason


def test_what_is_not_a_number_is_not_hidden(subject: Subject, survivor: Worker) -> None:
    end = ended(survivor, tampered(subject.case(), "not_a_number"))
    assert end.outcome == "failed"
    assert "not finite" in end.reason


def test_a_batch_that_does_not_fit_is_out_of_memory(subject: Subject, survivor: Worker) -> None:
    """The batch takes no memory until the framework copies it, and then more than there is."""
    case = subject.case()
    sample = sum(array.nbytes for array in resolve(case).batch(1, seed=0).values())
    count = 4 * psutil.virtual_memory().total // sample
    end = ended(survivor, tampered(replace(case, batch_size=count), "vast"))
    assert end.outcome == "oom", end
