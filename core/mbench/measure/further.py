"""What a resumed run measures besides its missing part: more sets of comparisons that had ended."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mbench import stats
from mbench.measure.resume import first_missing, is_done, is_ended
from mbench.measure.stopping import narrow_enough, widths
from mbench.results.figures import rates
from mbench.spec.adaptive import MORE_SETS, Adaptive

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.measure.preflight import Checked
    from mbench.results.records import Run
    from mbench.spec.planning import Comparison
    from mbench.spec.protocol import Protocol

__all__ = ["further", "session"]


LEEWAY = 1.1
"""Budget as a multiple of the expected time: sets do not all take the same time."""


def session(run: Run, checked: Checked) -> Protocol:
    """The protocol of a resumed run from now on: constants that are given again are replaced."""
    if not isinstance(run.protocol, Adaptive):
        asked = checked.experiment.protocol
        return replace(run.protocol, **{name: getattr(asked, name) for name in asked.growing})
    looked = run.protocol.looked or any(one.looked for one in checked.further.values())
    return replace(run.protocol, **given(run, checked), looked=looked)


def given(run: Run, checked: Checked) -> dict[str, Any]:
    """The constants given together with --resume, by name."""
    first, asked = run.header.protocol, checked.experiment.protocol
    if not isinstance(first, Adaptive) or not isinstance(asked, Adaptive):
        return {}
    return {name: getattr(asked, name) for name in first.growing
            if getattr(asked, name) != getattr(first, name)}  # fmt: skip


def further(run: Run, checked: Checked) -> dict[int, Adaptive]:
    """The protocol of each comparison that ended and gets more sets, by its number.

    Such a comparison lacks pairs for an interval, or the sets or the width that were asked for.
    """
    protocol = session(run, checked)
    if not isinstance(protocol, Adaptive):
        return {}
    more = given(run, checked)
    found = {one.number: extended(run, one, protocol, more)
             for one in checked.comparisons if is_done(run, one)}  # fmt: skip
    return {number: made for number, made in found.items() if made is not None}


def extended(
    run: Run, comparison: Comparison, protocol: Adaptive, given: Mapping[str, object]
) -> Adaptive | None:
    """`protocol` with as many sets as a comparison should have; None if it already has them."""
    entries = [entry for entry in comparison.entries if not is_ended(run, entry)]
    made = first_missing(run, entries)
    if not made:
        return None
    seconds = set_seconds(run, comparison)
    looked = protocol.looked or made >= stats.FEWEST
    if protocol.half_width_goal is not None:
        return narrowed(run, comparison, protocol, given, made=made, seconds=seconds)
    budget = float(protocol.budget_seconds)
    if "processes" in given:
        sets = protocol.processes
    elif "budget_seconds" in given:
        sets = max(protocol.processes, made + max(1, int(budget / seconds)))
    elif made < stats.FEWEST <= protocol.processes:
        sets = stats.FEWEST
    else:
        sets = protocol.processes
    if sets <= made:
        return None
    bounded = "budget_seconds" in given
    return replace(
        protocol,
        processes=sets,
        budget_seconds=budget if bounded else foreseen(sets - made, seconds),
        fewest_processes=made + 1 if bounded else sets,
        looked=looked,
    )


def set_seconds(run: Run, comparison: Comparison) -> float:
    """How long a set of a comparison takes. A session that found all sets complete does not know;
    then it is what the budget allows.
    """
    known, first = run.comparisons[comparison.number].set_seconds, run.header.protocol
    assert isinstance(first, Adaptive)
    return known or first.budget_seconds / max(1, first.processes)


def narrowed(
    run: Run, comparison: Comparison, protocol: Adaptive, given: Mapping[str, object], *,
    made: int, seconds: float,
) -> Adaptive | None:  # fmt: skip
    """Like `extended`, if a width is the goal: at least one more set. None if the goal is reached,
    or no more sets are allowed.
    """
    goal, most = protocol.half_width_goal, protocol.most_processes
    assert goal is not None
    known = [run.cases[entry.number] for entry in comparison.entries
             if not is_ended(run, entry)]  # fmt: skip
    seen = widths(
        {case.planned.case: rates(case) for case in known},
        cases=[case.planned.case for case in known],
        sets=made,
        calibrated={case.planned.case: case.calibration.ratios
                    for case in known if case.calibration},
    )  # fmt: skip
    if narrow_enough(seen, goal=goal, fewest=protocol.processes) or made >= most:
        return None
    if "budget_seconds" not in given:  # widths shrink with the square root of the number of sets
        width = seen[-1] or goal
        sets = max(made, math.ceil(made * (width / goal) ** 2)) + MORE_SETS
        budget = foreseen(min(most, sets) - made, seconds)
        protocol = replace(protocol, budget_seconds=budget)
    return replace(protocol, fewest_processes=made + 1, looked=True)


def foreseen(sets: int, seconds: float) -> float:
    """A budget for this many sets."""
    return float(math.ceil(LEEWAY * sets * seconds))
