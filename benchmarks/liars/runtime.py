"""An honest runtime that tells the lie which the variable LIE names, once a case is timed."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from liars.late import ALL
from mbench.workloads.find import OPERATORS, find_workload

if TYPE_CHECKING:
    from mbench.contract.scenario import Work
    from mbench.sdk.benchmark import Prepared
    from mbench.sdk.runtime import RuntimeBase

__all__ = ["lying"]


def timed(work: Work) -> bool:
    """Whether it is not a proof: those have their own rate in training, no dropout in inference."""
    usual = find_workload(work.case.workload, work.case.model).optimizer
    own = work.workload.optimizer
    return work.case.dropout and (own.rule, own.learning_rate) in (
        (usual.rule, usual.learning_rate), ("none", 0.0),
    )  # fmt: skip


def lying(honest: type[RuntimeBase]) -> type[RuntimeBase]:
    class Runtime(honest):  # type: ignore[valid-type, misc]
        """The refusals and the models are the honest one's."""

        def prepare(self, work: Work) -> Prepared:
            lie = ALL[os.environ.get("LIE", "none")]
            self.benchmark = honest.benchmark
            asked = work.case.workload != OPERATORS or lie.products
            if asked and (timed(work) or lie.proof_too):
                self.benchmark = type("Liar", (lie, honest.benchmark), {"honest": work.workload})
                case, workload = lie.falsified(work.case, work.workload)
                work = replace(work, case=case, workload=workload)
            found: Prepared = super().prepare(work)
            return found

    return Runtime
