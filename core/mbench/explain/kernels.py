"""Lets each framework's libraries, or its profiler, tell which kernels a step calls, untimed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mbench.contract.device import HOST
from mbench.engine.outcome import CaseEnded
from mbench.engine.scratch import scratch
from mbench.explain.observe import observe
from mbench.measure.activity import PhaseBegan
from mbench.measure.environment_pool import EnvironmentPool

if TYPE_CHECKING:
    from mbench.measure.activity import Listener
    from mbench.results.store import RunWriter
    from mbench.spec.order import Order

__all__ = ["kernels"]


def kernels(order: Order, store: RunWriter, listener: Listener) -> list[dict[str, Any]]:
    """Of each case of the first comparison, as plain data; why there are none, where that is so."""
    whole = order.comparisons[0]
    homes = EnvironmentPool(
        comparisons=[whole], accelerator=order.device, provision=False, listener=listener
    )
    found = []
    with scratch():
        for entry in whole.entries:
            listener.hear(PhaseBegan(entry.label, "telling its kernels"))
            log = store.log_path(f"{entry.number:03}-{entry.spec.name}-kernels.log")
            try:
                seen = observe(
                    entry.adapter, homes.of(entry), entry.case, log=log,
                    timeout=order.protocol.timeout_seconds,
                )  # fmt: skip
            except CaseEnded as end:
                told = {
                    "reason": str(end), "libraries": {}, "profiled": entry.case.device != HOST,
                    "kernels": [],
                }  # fmt: skip
            else:
                told = {"reason": "", **asdict(seen)}
            found.append({"label": entry.label, **told})
    return found
