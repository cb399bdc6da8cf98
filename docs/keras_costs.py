"""Writes the page of what Keras costs on each backend, from a run of mbench compare.

Usage: python docs/keras_costs.py RUN

docs/adapters/keras.md has the command of the run.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import mbench
from mbench.files import write_whole
from mbench.reports.remarks import remarks
from mbench.reports.states import states

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.results.case_summary import CaseSummary
    from mbench.results.pair_summary import PairSummary
    from mbench.results.summary import Summary

__all__ = ["main", "page"]

PAGE = Path(__file__).parent / "measured" / "keras.md"
BACKENDS = {"torch": "keras-torch", "jax": "keras-jax", "tf": "keras-tensorflow"}
"""Keras on a backend, by the framework that is the backend."""

HEAD = """\
# Measured: Keras on three backends

What Keras 3 costs on each backend, and which backend is fastest for a Keras model. This page is
written by `python docs/keras_costs.py` from one run. [Keras in mbench](../adapters/keras.md) says
what a step is, and the [glossary](../glossary.md) explains the words.

```console
$ {command}
```

Measured on {day} with mbench {mbench}: {versions}. The processor: {cpu}.
Threads of each framework: {threads}. Ratios are of throughput, with their 95 % intervals.
The report of the run says:

{states}
"""


def page(summary: Summary) -> str:
    system = summary.system
    versions = {
        case.framework: f"{case.framework_title} {case.version}"
        for case in summary.cases
        if case.version
    }
    parts = [
        HEAD.format(
            command=shlex.join([shortened(word) for word in summary.command]),
            cpu=system.cpu,
            threads=system.default_threads,
            day=summary.started[:10],
            mbench=summary.mbench,
            versions=", ".join(versions.values()),
            states="\n".join(
                f"- {one.level}: {one.title}: {one.text}"
                for one in states(summary, remarks(summary), rest="")
            ),
        )
    ]
    for title, cases in comparisons(summary).items():
        pairs = [one for one in summary.comparisons if model_of(one) == title]
        parts += [f"## {heading(cases)}\n", *tables(cases, pairs)]
    return "\n".join(parts)


def shortened(word: str) -> str:
    """A framework without the Python in which it ran."""
    return word.partition("@")[0]


def comparisons(summary: Summary) -> dict[str, list[CaseSummary]]:
    found: dict[str, list[CaseSummary]] = {}
    for case in summary.cases:
        found.setdefault(f"{case.axes.model} {case.axes.mode}", []).append(case)
    return found


def model_of(pair: PairSummary) -> str:
    return f"{pair.shared['model']} {pair.shared['mode']}"


def heading(cases: list[CaseSummary]) -> str:
    axes = cases[0].axes
    sizes = [f"{name.replace('_', ' ')} {size}" for name, size in dict(axes.sizes).items()]
    words = [axes.model, axes.mode, f"batch {axes.batch_size}", *sizes, axes.precision]
    return ", ".join(words)


def tables(cases: list[CaseSummary], pairs: list[PairSummary]) -> Iterator[str]:
    """Yields a table of all cases, and then one of each backend alone and under Keras."""
    first = cases[0].framework
    yield f"| | samples/s | against {first} | equal work | first step | most memory |"
    yield "|---|---|---|---|---|---|"
    for case in cases:
        against = [p for p in pairs if (p.framework, p.baseline) == (case.label, cases[0].label)]
        yield row(case, against)
    yield ""
    yield "| Backend | throughput under Keras, against the backend alone | time of a step |"
    yield "|---|---|---|"
    labels = {case.framework: case.label for case in cases}
    for backend, keras in BACKENDS.items():
        if {backend, keras} <= labels.keys():
            yield cost(backend, [labels[backend], labels[keras]], pairs)
    yield ""


def row(case: CaseSummary, against: list[PairSummary]) -> str:
    speed = f"{case.throughput.value:.3g}" if case.throughput else case.outcome
    proof = "proven" if case.equal_work and case.equal_work.proven else "not proven"
    first = f"{case.first_step_seconds:.1f} s" if case.first_step_seconds else "-"
    memory = f"{case.peak_memory_bytes / 2**30:.1f} GiB" if case.peak_memory_bytes else "-"
    ratio = interval(against[0]) if against else "1"
    name = f"`{case.framework}`, {case.axes.compiler}"
    return f"| {' | '.join([name, speed, ratio, proof, first, memory])} |"


def cost(backend: str, labels: list[str], pairs: list[PairSummary]) -> str:
    """How many times as fast the backend is under Keras, and how much longer a step takes."""
    found = next((p for p in pairs if {p.framework, p.baseline} == set(labels)), None)
    if found is None or found.ratio is None or found.low is None or found.high is None:
        return f"| {backend} | no verdict | - |"
    times = [found.low, found.ratio, found.high]
    if found.framework == labels[0]:  # the ratio is of the backend, by Keras on it
        times = [1 / one for one in reversed(times)]
    low, ratio, high = times
    longer = [f"{1 / one - 1:+.0%}" for one in (ratio, high, low)]
    ratios = f"{ratio:.3g} ({low:.3g} .. {high:.3g})"
    return f"| {backend} | {ratios} | {longer[0]} ({longer[1]} .. {longer[2]}) |"


def interval(pair: PairSummary) -> str:
    if pair.ratio is None:
        return "no verdict"
    bounds = "" if pair.low is None else f" ({pair.low:.3g} .. {pair.high:.3g})"
    return f"{pair.ratio:.3g}{bounds}"


def main() -> None:
    (run,) = sys.argv[1:]
    write_whole(PAGE, page(mbench.read(run).summary).encode())


if __name__ == "__main__":
    main()
