"""Documents to render: one with everything in it, and one that means harm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mbench.engine.outcome import CaseEnded

if TYPE_CHECKING:
    from collections.abc import Callable

Document = dict[str, Any]


@pytest.fixture
def full(document: Callable[..., Document], proven: Any) -> Document:
    """Two comparisons of three: in the second flaky ran out of memory in all of them."""
    return document(
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
def hostile(full: Document) -> Document:
    """The same with text that breaks tables, markup and terminals wherever text may stand."""
    for case in full["cases"]:
        if case["outcome"] != "ok":
            case["reason"] = HOSTILE
        case["label"] += HOSTILE
        case["version"] = HOSTILE
        case["differences"] = [HOSTILE]
    for comparison in full["comparisons"]:
        comparison["framework"] += HOSTILE
        comparison["baseline"] += HOSTILE
        comparison["compilers"] = dict.fromkeys(
            (comparison["framework"], comparison["baseline"]), "eager"
        )
        if comparison["reason"]:
            comparison["reason"] = HOSTILE
    return full


@pytest.fixture
def harm() -> str:
    return HOSTILE
