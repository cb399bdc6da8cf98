"""What reports say in sentences: verdicts, disturbances, searches, percentiles, differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from mbench.console import counted
from mbench.contract.axes import hushed, name
from mbench.reports.cells import named_cases
from mbench.reports.grid import Grid
from mbench.reports.merging import all_or, merged
from mbench.reports.terminal import joined
from mbench.reports.text import number
from mbench.reports.verdicts import (
    disturbed,
    evidence,
    further,
    noise_note,
    past,
    sentence,
    setup,
    together,
)
from mbench.results.proof import EQUAL
from mbench.stats import PERCENTILES

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["difference_lines", "disturbance_lines", "doubt_lines", "equality", "lacking_lines",
           "latencies", "outcome_lines", "protocol_line", "rounding_lines", "search_lines",
           "variables_lines", "verdict_line", "verdict_lines"]  # fmt: skip

Document = dict[str, Any]


def verdict_lines(document: Document) -> list[Text]:
    """Every two frameworks' verdict with its proof and what more would take; how all ran; that all
    hold.

    Those against the first framework come first. Where a case fell short, the pairs that this
    leaves without a verdict share a line.
    """
    less = {"compiler", *hushed(document["cases"])}
    compared = sorted(document["comparisons"], key=lambda one: not one["against_first"])
    told = [one for one in compared if not fell_short(document, one)]
    manner = setup(told) if len(told) > 1 else ""
    lines, lacking = [], dict[tuple[str, str], list[str]]()
    for comparison in compared:
        what = name(comparison, less=less)
        if fell_short(document, comparison):
            pairs = lacking.setdefault((what, evidence(comparison)), [])
            pairs.append(f"{comparison['framework']} against {comparison['baseline']}")
            continue
        notes: list[str | Text] = [
            verdict_line(document, comparison, less=less, tier=not manner),
            equality(document, comparison),
            noise_note(comparison),
            further(comparison),
            past(comparison),
            disturbed(comparison),
        ]
        lines.append(joined(notes))
    for (what, reason), pairs in lacking.items():
        lines.append(Text(f"{what}: {', '.join(pairs)}: not compared ({reason})"))
    return [*lines, *(Text(said) for said in (manner, together(document)) if said)]


def fell_short(document: Document, comparison: Document) -> list[Document]:
    """Which of its cases did."""
    cases = [document["cases"][at] for at in comparison["cases"]]
    return [case for case in cases if case["outcome"] != "ok"]


def verdict_line(
    document: Document, comparison: Document, *, less: Collection[str] = (), tier: bool = True
) -> Text:
    """One comparison in one sentence, without the axes in `less`, with how both are set up if
    `tier`."""
    what = name(comparison, less={"compiler", *less})
    said = sentence(document, comparison, tier=tier)
    return Text.assemble(f"{what}: ", said, f" ({evidence(comparison)})")


def equality(document: Document, comparison: Document) -> Text:
    """What is known of the equality of the two cases' work."""
    state = comparison["equal_work"]
    cases = [document["cases"][at] for at in comparison["cases"]]
    if state in EQUAL:
        errors = [e for case in cases if (e := case["equal_work"]["worst"]) is not None]
        worst = f" (worst {max(errors):.0e})" if errors else ""
        return Text.assemble("equal work: ", (state, "proven"), worst)
    return Text.assemble("equal work: ", unproven(document, comparison))


def unproven(document: Document, comparison: Document) -> Text:
    """That it is not shown to be equal, and by which check of which case."""
    said = Text.assemble((comparison["equal_work"].upper(), "unproven"))
    if comparison["verdict"] is not None:
        for case in (document["cases"][at] for at in comparison["cases"]):
            if case["equal_work"] and not case["equal_work"]["proven"]:
                said.append(f", {case['label']}: {case['equal_work']['failures'][0]}")
    return said


def outcome_lines(document: Document) -> list[str | Text]:
    """Why cases fell short, where no comparison says it."""
    spoken = [comparison["reason"] or "" for comparison in document["comparisons"]]
    notes = [
        (who, f"{case['outcome']}: {case['reason']}")
        for who, case in named_cases(document)
        if case["outcome"] != "ok" and not any(case["reason"] in said for said in spoken)
    ]
    return [f"{', '.join(who)}: {text}" for who, text in merged(notes)]


def latencies(document: Document) -> Grid | None:
    """Percentiles of step time of each case that has single steps; None where none has."""
    ranks = [f"p{rank:g}" for rank in PERCENTILES]
    grid = Grid("", ("latency ms", "steps", *ranks), numeric=frozenset({"steps", *ranks}))
    for who, case in named_cases(document):
        times = case["step_time_ms"]
        if times and times["samples"]:
            shown = ["-" if times[rank] is None else number(times[rank]) for rank in ranks]
            grid.rows.append([who, f"{times['samples']:,}", *shown])
    return grid if grid.rows else None


def lacking_lines(document: Document) -> list[str]:
    """Which percentiles the samples do not support, and why, in one line."""
    reasons: dict[str, list[str]] = {}
    for case in document["cases"]:
        times = case["step_time_ms"]
        for rank, why in times["lacking"].items() if times and times["samples"] else ():
            reasons.setdefault(rank, []).append(why)
    said = [
        f"{rank} {text}"
        for rank, texts in reasons.items()
        for _, text in merged((rank, text) for text in texts)
    ]
    return ["; ".join(said)] if said else []


def difference_lines(document: Document) -> list[str]:
    """What each framework does its own way, once per set of differences; before that, their Pythons
    where these differ.
    """
    found: dict[str, dict[str, None]] = {}
    for case in document["cases"]:
        if case["differences"]:
            found.setdefault("; ".join(case["differences"]), {})[case["label"]] = None
    said = [f"{', '.join(labels)}: {text}" for text, labels in found.items()]
    return [*python_lines(document), *said]


def python_lines(document: Document) -> list[str]:
    """Each framework's Python, in one line, where they are of several minor versions."""
    found = {c["label"]: c["environment"]["python_version"] for c in document["cases"]
             if c["environment"]}  # fmt: skip
    if len({tuple(version.split(".")[:2]) for version in found.values()}) < 2:
        return []
    return [f"Pythons differ: {', '.join(f'{who} {what}' for who, what in found.items())}"]


def variables_lines(document: Document) -> list[str]:
    """The variables that workers inherited, in one line, if there were any."""
    from mbench.results.difference import variables_of  # which computes: commands start without

    said = variables_of(document["system"].get("variables") or {})
    return [f"workers inherited {said}"] if said else []


def search_lines(document: Document) -> list[str]:
    """What was tried to find the largest batch or the best compiler, and what came of it."""
    lines = []
    for search in document["searches"]:
        what = "largest batch" if search["what"] == "batch_size" else "best compiler"
        tried = [
            f"{trial['value']} {number(trial['step_seconds'] * 1e3, 3)} ms"
            if trial["outcome"] == "ok"
            else f"{trial['value']} {trial['outcome']}"
            for trial in search["tried"]
        ]
        chosen = "none" if search["chosen"] is None else search["chosen"]
        lines.append(
            f"{search['comparison']}: {search['label']}: {what} {chosen} "
            f"(tried, step time: {', '.join(tried)}){short_trial(search)}"
        )
    return lines


def short_trial(search: Document) -> str:
    """How sure a choice is that was made by time."""
    processes = max((len(trial["processes"]) for trial in search["tried"]), default=0)
    if not processes or search["chosen"] is None:
        return ""
    fresh = "one fresh process" if processes == 1 else f"{processes} fresh processes"
    said = f"; chosen by a short trial of {fresh} each"
    if tied := search["tied"]:
        said += f"; {' and '.join(tied)} {'was' if len(tied) == 1 else 'were'} within its interval"
    return said


def doubt_lines(document: Document) -> list[str]:
    """What speaks against the work of cases as they were timed."""
    return [f"DOUBTFUL, {said}" for case in document["cases"] for said in case["doubts"]]


def rounding_lines(document: Document) -> list[str]:
    """How far rounding alone carries cases of which that had to be found, in one line each."""
    return [
        f"{who}: rounding alone may carry losses {100 * found['answers']:.2g} % and "
        f"updates {100 * found['direction']:.2g} % apart, so evidence is held to less"
        for who, case in named_cases(document)
        if (found := case["rounding"])
    ]


def disturbance_lines(document: Document) -> list[str | Text]:
    """What disturbed cases: one line for each kind of disturbance, with all that it disturbed."""
    named = named_cases(document)
    notes = [(who, found["text"]) for who, case in named for found in case["disturbances"]]
    everyone = [who for who, _ in named]
    return [
        Text.assemble(("DISTURBED", "disturbed"), f", {all_or(who, everyone)}: {text}")
        for who, text in merged(notes)
    ]


def protocol_line(document: Document) -> str:
    """How a published protocol measured; empty for mbench's own."""
    constants = document["protocol"]
    if constants["side_by_side"]:
        return ""
    epochs = constants["epochs"] - constants["warmup_epochs"]
    warmup = max(1, constants["warmup_steps"] + constants["warmup_epochs"] * constants["steps"])
    said = f"protocol {constants['name']}: {counted(warmup, 'step')} of warm-up, "
    said += f"then {constants['steps']}"
    said += f" in each of {epochs} epochs" if epochs > 1 else ""
    if constants["duration_seconds"] is not None:
        said += f" or {number(constants['duration_seconds'])} s"
    count = constants["processes"]
    said += f"; median of {count} fresh processes" if count > 1 else "; one process"
    return f"{said}; one case after the other"
