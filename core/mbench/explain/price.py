"""The expected cost of explaining a step: proofs, sets of processes, and parts of a set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.console import counted, span
from mbench.contract.reading import Malformed
from mbench.engine.outcome import CaseEnded
from mbench.errors import MbenchError
from mbench.explain.plan import CALLS, FEWEST_SETS, is_check
from mbench.machine.cores import hardware_threads
from mbench.measure.resume import is_done
from mbench.proofs.cache import remembered
from mbench.scenarios.find import resolve
from mbench.spec.adaptive import Adaptive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.measure.run_context import RunContext
    from mbench.spec.planning import Comparison

__all__ = ["Price", "weight_of"]

PROOF_SECONDS = 6.0
PROVEN_PER_SECOND = 4e6
"""A proof takes one core PROOF_SECONDS, plus a second per PROVEN_PER_SECOND parameters."""


class Price:
    """Costs estimated beforehand, and later from the time of the first set of processes."""

    def __init__(self, bench: RunContext) -> None:
        assert isinstance(bench.protocol, Adaptive)  # see check_protocol
        self.bench, self.protocol = bench, bench.protocol
        self.part_seconds = 0.0
        """Time of the whole step in a set of processes; 0 until it has been measured."""
        self.launch_seconds = 0.0
        """Time to start the processes of a set."""

    def foretold(self, coarse: Sequence[Comparison], fine: Sequence[Comparison]) -> str:
        """What is going to be measured, and its cost, before anything has been measured."""
        protocol, proofs = self.protocol, ""
        count, seconds = self.proofs_of([one for one in coarse if not self.is_done(one)])
        if count:
            proofs = (
                f"first {counted(count, 'proof')}, about {span(seconds)}, which are made once and "
                "remembered; then "
            )
        most = protocol.processes
        sets = str(most) if most == FEWEST_SETS else f"{FEWEST_SETS} to {most}"
        blocks = sum(map(self.fixed_seconds, coarse))
        parts = f" and {counted(len(coarse) - 1, 'part')} of it (phases and stages)"
        step = "the step" + (parts if len(coarse) > 1 else "")
        coarsely = (
            f"{step} in {sets} sets of processes, at least {span(blocks)} each; then, in what is "
            "left of"
        )
        if all(map(self.is_done, coarse)):
            coarsely = "within"
        return (
            f"plan: {proofs}{coarsely} the budget of {span(protocol.budget_seconds)}, up to "
            f"{counted(len(fine), 'part')} (operators, and checks of stages that differ) with "
            "their proofs, starting with those that may explain most"
        )

    def is_done(self, one: Comparison) -> bool:
        earlier = self.bench.earlier
        return earlier is not None and is_done(earlier, one)

    def proofs_of(self, comparisons: Sequence[Comparison]) -> tuple[int, float]:
        """How many of their proofs are not remembered, and roughly the seconds that they take."""
        count, seconds = 0, 0.0
        entries = [entry for one in comparisons for entry in one.entries]
        for entry in entries if self.bench.verify else ():
            if not entry.support.supported:
                continue
            try:
                known = remembered(entry, self.bench.environments.environment_for(entry))
            except (CaseEnded, MbenchError, Malformed):
                continue  # reported where it is measured
            if not known:
                count += 1
                seconds += PROOF_SECONDS + resolve(entry.case).parameter_count() / PROVEN_PER_SECOND
        return count, seconds / min(max(1, count), hardware_threads())

    def fixed_seconds(self, one: Comparison) -> float:
        """The time of a part that computes next to nothing, in all frameworks."""
        protocol = self.protocol
        turns = 2 if protocol.single_steps else 1
        rounds = protocol.rounds or protocol.fewest_rounds
        each = 0.5 + 4 * protocol.block_seconds
        each += rounds * (turns * protocol.block_seconds + protocol.lead_seconds)
        return len(one.entries) * each

    def set_seconds(self, parts: Sequence[Comparison]) -> float:
        """The time of a set of processes that measures `parts`, the first being the whole step."""
        weights = [weight_of(one, parts[0]) for one in parts]
        return self.launch_seconds + self.part_seconds * sum(weights)

    def part_seconds_of(self, one: Comparison, whole: Comparison) -> float:
        """The time of a part in a set; for an operator, by its share of the step's FLOPs."""
        fixed = self.fixed_seconds(whole)
        if is_check(one):
            # The form that it checks is measured again beside it, and is only slightly longer.
            return 2.2 * max(fixed, weight_of(one, whole) * self.part_seconds)
        case = whole.entries[0].case
        flops = resolve(case).forward_flops() * case.batch_size
        share = min(1.0, resolve(one.entries[0].case).forward_flops() / flops) if flops else 0.0
        return fixed + CALLS * share * self.part_seconds


def weight_of(part: Comparison, whole: Comparison) -> float:
    """How long a phase or a longer model takes, as a multiple of the whole step, by FLOPs."""
    own, all_ = (resolve(one.entries[0].case).forward_flops() for one in (part, whole))
    return own / all_ if all_ else 1.0
