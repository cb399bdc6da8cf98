"""Lists the kernels that a step of each framework calls, in processes that are not timed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from mbench.contract.device import HOST
from mbench.engine.isolation import scratch
from mbench.engine.outcome import CaseEnded
from mbench.explain.observe import Evidence, observe
from mbench.measure.activity import PhaseBegan
from mbench.measure.environment_pool import EnvironmentPool

if TYPE_CHECKING:
    from mbench.measure.activity import Listener
    from mbench.measure.preflight import Checked
    from mbench.results.encoding import Json
    from mbench.results.store import RunWriter
    from mbench.spec.planning import Comparison

__all__ = ["StepKernels", "list_kernels"]


@dataclass(frozen=True, kw_only=True)
class StepKernels:
    """The kernels of one framework."""

    label: str
    evidence: Evidence
    reason: str = ""
    """Why there is no evidence; empty where there is."""

    def to_json(self) -> dict[str, Json]:
        return {"label": self.label, "reason": self.reason, **asdict(self.evidence)}


def list_kernels(
    whole: Comparison, checked: Checked, store: RunWriter, listener: Listener
) -> list[StepKernels]:
    """The kernels of each case of a comparison; logs and traces are in the run's folder."""
    environments = EnvironmentPool(
        comparisons=[whole], accelerator=checked.device, provision=False, listener=listener
    )
    found = []
    with scratch():
        for entry in whole.entries:
            listener.hear(PhaseBegan(entry.label, "listing kernels"))
            log = store.log_path(f"{entry.number:03}-{entry.spec.name}-kernels.log")
            reason = ""
            try:
                evidence = observe(
                    entry.adapter, environments.environment_for(entry), entry.case, log=log,
                    timeout=checked.experiment.launch.timeout_seconds,
                )  # fmt: skip
            except CaseEnded as end:
                evidence, reason = Evidence(profiled=entry.case.device != HOST), str(end)
            found.append(StepKernels(label=entry.label, evidence=evidence, reason=reason))
    return found
