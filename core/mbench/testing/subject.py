"""The adapter under test: its cases at the sizes of proofs, and workers that run them."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

from mbench.contract import wire
from mbench.engine.launch import launch
from mbench.engine.outcome import CaseEnded
from mbench.machine.cores import default_threads
from mbench.proofs.proof_case import quickest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from mbench.contract.adapter import Adapter
    from mbench.contract.case import Case
    from mbench.environments.environment import Environment
    from mbench.plugins.launcher import Worker

__all__ = ["Subject", "ended", "observe"]

TIMEOUT_SECONDS = 900.0


@dataclass(frozen=True, kw_only=True)
class Subject:
    adapter: Adapter
    environment: Environment
    workloads: Mapping[str, str]
    device: str
    log: Path

    @cached_property
    def cases(self) -> list[Case]:
        """Training of every model that the adapter supports, the quickest to try first; inference
        if it trains none.
        """
        return self.quickest("train") or self.quickest("inference")

    def quickest(self, mode: str) -> list[Case]:
        return quickest(
            self.adapter,
            self.workloads,
            mode=mode,
            device=self.device,
            threads=default_threads().count,
        )

    def case(self, **changes: Any) -> Case:
        """The smallest case, changed; skips the test if the adapter does not support it."""
        if not self.cases:
            pytest.fail("the adapter supports no model with its first compiler in fp32")
        case = replace(self.cases[0], **changes)
        support = self.adapter.supports(case)
        if not support.supported:
            pytest.skip(support.reason)
        return case

    def exact_case(self, **changes: Any) -> Case:
        """The smallest case in float64, changed, with the first compiler that supports it."""
        asked = self.case(**changes)
        for compiler in self.adapter.compilers:
            case = replace(asked, precision="fp64", compiler=compiler)
            if self.adapter.supports(case).supported:
                return case
        pytest.skip("no compiler of this adapter has fp64")

    def worker(self, case: Case) -> AbstractContextManager[Worker]:
        """A new worker that has imported the framework for `case`, but not prepared it."""
        worker, _ = launch(
            self.adapter, self.environment, case, log=self.log, timeout=TIMEOUT_SECONDS
        )
        return closing(worker)


def observe(worker: Worker, *, seed: int = 0, steps: int = 1) -> wire.Observation:
    """The evidence of the case that is prepared, from the canonical parameters of `seed`."""
    request = wire.Observe(seed=seed, steps=steps)
    return worker.ask(request, wire.Observation)


def ended(worker: Worker, case: Case) -> CaseEnded:
    """How `case` ends when it is prepared or makes a step; fails the test if it does not end."""
    try:
        worker.prepare(case)
        observe(worker)
    except CaseEnded as end:
        return end
    pytest.fail(f"{case.workload} under {case.compiler} in {case.precision} was accepted")
