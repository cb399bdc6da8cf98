"""An honest runtime that tells the lie which the variable LIE names, once a case is timed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from liars.lies import LIES
from mbench.workloads.find import find_workload

if TYPE_CHECKING:
    from mbench.contract.case import Case
    from mbench.contract.workload import Workload
    from mbench.sdk.benchmark import Prepared
    from mbench.sdk.runtime import RuntimeBase

__all__ = ["lying"]


def timed(case: Case) -> bool:
    """Proofs have a rate of their own in training, and drop nothing in inference."""
    usual = find_workload(case.workload, case.model).optimizer.learning_rate
    return case.dropout and case.learning_rate == usual and not (case.plain_sgd or case.given)


def lying(honest: type[RuntimeBase]) -> type[RuntimeBase]:
    class Runtime(honest):  # type: ignore[valid-type, misc]
        """The refusals and the models are the honest one's."""

        def prepare(self, case: Case, workload: Workload) -> Prepared:
            lie = LIES[os.environ.get("LIE", "none")]
            self.benchmark = honest.benchmark
            if timed(case) or lie.proof_too:
                self.benchmark = type("Liar", (lie, honest.benchmark), {"honest": workload})
                case, workload = lie.falsified(case, workload)
            found: Prepared = super().prepare(case, workload)
            return found

    return Runtime
