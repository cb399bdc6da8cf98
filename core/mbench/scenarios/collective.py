"""Collectives: what several processes do together, whatever they compute."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, cast

from mbench.contract.scenario import RANKS
from mbench.scenarios.operator import Calls
from mbench.workloads.operators.collectives import Together

if TYPE_CHECKING:
    from mbench.contract.case import Case
    from mbench.contract.workload import Workload

__all__ = ["COLLECTIVE"]


class Collective(Calls):
    says = "what several processes do together"
    exchanges = True
    proof = RANKS
    renews = False

    def suits(self, workload: Workload) -> str:
        return "" if isinstance(workload, Together) else f"{workload.name} exchanges nothing"

    def limitation(self, case: Case, workload: Workload) -> str:
        reason = self.suits(workload)
        if reason:
            return reason
        if case.devices == 1:
            return f"{workload.name} needs several devices: use --scale 1x2"
        precisions = cast("Together", workload).config.precisions
        if case.precision not in precisions:
            known = ", ".join(precisions)
            return f"{workload.name} uses whole numbers that are exact only in {known}"
        return ""

    def fitted(self, workload: Workload, case: Case) -> Workload:
        fitted = cast("Together", super().fitted(workload, case))
        config = dataclasses.replace(fitted.config, ranks=case.devices)
        return dataclasses.replace(fitted, config=config)

    def moved_bytes(self, workload: Workload, *, number_bytes: int) -> int | None:
        """None: device memory does not limit what devices exchange."""
        return None

    def message(self, workload: Workload) -> tuple[int, float] | None:
        config = cast("Together", workload).config
        share = config.bus_share()
        return None if share is None else (config.message(), share)


COLLECTIVE = Collective()
