"""The second grade of proof, where there is no float64: outputs in fp32, for many sets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mbench.proofs.judge import CheckResult, distance, judge_outputs
from mbench.proofs.tolerances import SHOWN_TOGETHER, TIMED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mbench.contract.wire import Observation

__all__ = ["judge_shown"]


def judge_shown(
    seen: Sequence[Observation], expected: Mapping[int, Mapping[str, np.ndarray]]
) -> Iterator[CheckResult]:
    """Outputs of each set of parameters against float64; and of all sets together, where chance
    averages out, that of sketches too, and a slip does not.
    """
    found = []
    for seed, observation in zip(expected, seen, strict=True):
        finding = judge_outputs(observation, expected[seed], gate=TIMED["fp32"], check="shown")
        found.append(replace(finding, where=f"{finding.where} of set {seed + 1}"))
    worst = max(found, key=lambda finding: finding.error or 0.0)
    yield worst
    if worst.passed:
        for name in next(iter(expected.values())):
            errors = [
                distance(np.array(observation.steps[0].outputs[name]), outputs[name])
                / outputs[name][0]
                for outputs, observation in zip(expected.values(), seen, strict=True)
            ]
            error = float(np.sqrt(np.mean(np.square(errors))))
            yield CheckResult("shown", error, SHOWN_TOGETHER, f"output {name} of all sets together")
