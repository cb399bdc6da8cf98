"""Summaries to render: one with everything in it, and one with hostile text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from summaries import with_case

from mbench.engine.outcome import CaseEnded

if TYPE_CHECKING:
    from collections.abc import Callable

    from mbench.results.summary import Summary


@pytest.fixture
def full(summary: Callable[..., Summary], proven: Any) -> Summary:
    """Three cases in inference: tiny and flaky are proven, and tiny==1.26 ran out of memory."""
    return summary(
        seconds={
            "tiny": [[1.0, 1.0], [1.01, 1.0], [1.0, 1.02]],
            "flaky": [[1.5, 1.5], [1.52, 1.5], [1.5, 1.51]],
            "tiny==1.26": [],
        },
        single={"tiny": [float(ms) for ms in range(1, 21)]},
        mode=("inference",),
        ends={"tiny==1.26": CaseEnded("oom", "too large")},
        proofs={"tiny": proven.yes, "flaky": proven.yes},
    )


HOSTILE = 'a|b <script>alert(1)</script> [red]x[/red] **y** `z` \\ "q",\r\n\x1b[31m=1+1\u2028end'


@pytest.fixture
def hostile(full: Summary) -> Summary:
    """The full summary, with text that breaks tables, markup and terminals wherever text may be."""
    made = with_case(full, version=HOSTILE, differences=[HOSTILE])
    for at, case in enumerate(made.cases):
        reason = case.reason and HOSTILE
        made = with_case(made, at, label=case.label + HOSTILE, reason=reason)
    pairs = [
        replace(
            pair,
            framework=pair.framework + HOSTILE,
            baseline=pair.baseline + HOSTILE,
            compilers=dict.fromkeys((pair.framework + HOSTILE, pair.baseline + HOSTILE), "eager"),
            reason=pair.reason and HOSTILE,
        )
        for pair in made.comparisons
    ]
    return replace(made, comparisons=pairs)


@pytest.fixture
def harm() -> str:
    """The hostile text."""
    return HOSTILE
