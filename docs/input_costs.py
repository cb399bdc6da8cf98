"""Writes the page of what images from files cost in each framework, from a run of mbench compare.

Usage: python docs/input_costs.py RUN

docs/input.md says what is measured; the page itself has the command of the run.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import mbench
from mbench.contract.feed import COLD, WARM
from mbench.files import write_whole
from mbench.reports.html.facts import portable
from mbench.reports.remarks import remarks
from mbench.reports.states import states

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.results.case_summary import CaseSummary
    from mbench.results.figures import Figure
    from mbench.results.pair_summary import PairSummary
    from mbench.results.summary import Summary

__all__ = ["main", "page"]

PAGE = Path(__file__).parent / "measured" / "input.md"

HEAD = """\
# Measured: images from files

What decoding costs in each framework, by its own input pipeline. This page is written by
`python docs/input_costs.py` from one run. [Images from files](../input.md) says what is measured,
and the [glossary](../glossary.md) explains the words.

```console
$ {command}
```

{continued}Measured on {day} with mbench {mbench}: {versions}. The processor: {cpu}.
Threads of each framework, loaders included: {threads}. {data}

All intervals are 95 % intervals over {processes} processes. "Both" is the step on images of the
pipeline; "against {first}" is the ratio of both to that of {first}. CPU ms per image is processor
time: of the pipeline alone, and of step and pipeline together. The report of the run says:

{states}

"""
CONTINUED = "Some of these processes were added by `mbench compare --resume`.\n\n"
READ = {WARM: "from memory (warm)", COLD: "from the disk (cold)"}
COLUMNS = ("Model", "Mode", "Framework", "Both, images/s", "Against {first}", "Step alone",
           "Pipeline alone", "Waits for images", "CPU ms/image: pipeline", "both",
           "Pixels")  # fmt: skip


def page(summary: Summary) -> str:
    system, cases = summary.system, summary.cases
    versions = {case.framework: f"{case.framework_title} {case.version}" for case in cases}
    head = HEAD.format(
        command=command(summary),
        continued=CONTINUED if asked(summary) not in (None, processes(summary)) else "",
        cpu=system.cpu,
        threads=cases[0].axes.threads,
        day=summary.started[:10],
        mbench=summary.mbench,
        versions=", ".join(versions.values()),
        first=cases[0].framework,
        processes=processes(summary),
        data=next((said_of(case) for case in cases if case.input and case.input.data), ""),
        states="\n".join(
            f"- {one.level}: {one.title}: {one.text}"
            for one in states(summary, remarks(summary), rest="")
        ),
    )
    columns = [one.format(first=cases[0].framework) for one in COLUMNS]
    return head + "\n".join([line(columns), line(["---"] * len(columns)), *rows(summary)]) + "\n"


def command(summary: Summary) -> str:
    """A command that makes such a run, on another machine, too: without folders, and with as many
    processes as there are after all continuations.
    """
    words, _ = portable(summary.command)
    for option, value in (("--data", "photos"), ("--processes", str(processes(summary)))):
        if option in words:
            words[words.index(option) + 1] = value
    return shlex.join(words)


def asked(summary: Summary) -> int | None:
    """How many processes the run began with, if that was given."""
    words = summary.command
    return int(words[words.index("--processes") + 1]) if "--processes" in words else None


def processes(summary: Summary) -> int:
    return max(case.processes for case in summary.cases)


def said_of(case: CaseSummary) -> str:
    """In words: the batch, its sizes and precision, and the data set with how it is read."""
    assert case.input is not None
    found = case.input.data
    assert found is not None
    sizes = ", ".join(f"{name.replace('_', ' ')} {size}" for name, size in case.axes.sizes.items())
    return (
        f"Batch {case.axes.batch_size}, {sizes}, {case.axes.precision}. The data set has "
        f"{found.files} files (SHA-256 `{found.digest[:12]}...`), read {READ[case.axes.storage]}."
    )


def rows(summary: Summary) -> Iterator[str]:
    for case in summary.cases:
        axes, found = case.axes, case.input
        name = [axes.model, axes.mode, f"`{case.framework}`, {axes.compiler}"]
        if case.outcome != "ok" or found is None:
            yield line([*name, f"{case.outcome}: {case.reason}", *[""] * (len(COLUMNS) - 4)])
            continue
        times = (found.pipeline_cpu_seconds_per_sample, found.cpu_seconds_per_sample)
        yield line([
            *name, rate(case.throughput), against(case, summary), rate(found.step),
            rate(found.pipeline), waits(case),
            *("" if one is None else f"{1e3 * one:.3g}" for one in times),
            found.pixels.grade if found.pixels else "",
        ])  # fmt: skip


def against(case: CaseSummary, summary: Summary) -> str:
    """The ratio to the first framework's case of the same model and mode."""
    first = summary.cases[0].label
    if case.label == first:
        return "1"
    found = next((one for one in summary.comparisons if is_of(one, case, first)), None)
    if found is None or found.ratio is None:
        return ""
    ends = "" if found.low is None else f" ({found.low:.3g} .. {found.high:.3g})"
    return f"{found.ratio:.3g}{ends}"


def is_of(pair: PairSummary, case: CaseSummary, first: str) -> bool:
    same = (pair.shared["model"], pair.shared["mode"]) == (case.axes.model, case.axes.mode)
    return same and (pair.framework, pair.baseline) == (case.label, first)


def rate(figure: Figure | None) -> str:
    if figure is None:
        return ""
    ends = "" if figure.low is None else f" ({figure.low:.3g} .. {figure.high:.3g})"
    return f"{figure.value:.3g}{ends}"


def waits(case: CaseSummary) -> str:
    stall = case.input.stall if case.input else None
    if stall is None:
        return ""
    ends = "" if stall.low is None else f" ({100 * stall.low:.0f} .. {100 * stall.high:.0f})"
    return f"{100 * stall.value:.0f} %{ends}"


def line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    (run,) = sys.argv[1:]
    write_whole(PAGE, page(mbench.read(run).summary).encode())


if __name__ == "__main__":
    main()
