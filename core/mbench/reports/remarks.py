"""What reports say in sentences: verdicts, disturbances, searches, percentiles, differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mbench.contract.axes import hushed, name
from mbench.reports.cells import named_cases
from mbench.reports.text import number
from mbench.reports.verdicts import disturbed, evidence, further, noise_note, sentence, together
from mbench.stats import PERCENTILES

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["difference_lines", "disturbance_lines", "equality", "latency_lines",
           "protocol_line", "search_lines", "variables_lines", "verdict_line",
           "verdict_lines"]  # fmt: skip

Document = dict[str, Any]


def verdict_lines(document: Document) -> list[str]:
    """Every two frameworks' verdict with its proof and what more would take, and that all hold.

    Those against the first framework come first.
    """
    used: dict[str, set[str]] = {}
    for case in document["cases"]:
        used.setdefault(case["label"], set()).add(case["compiler"])
    several = any(len(compilers) > 1 for compilers in used.values())
    less = hushed(document["cases"])
    compared = sorted(document["comparisons"], key=lambda one: not one["against_first"])
    lines = []
    for comparison in compared:
        notes = [
            verdict_line(comparison, less=less, compilers=several),
            equality(document, comparison),
            noise_note(comparison),
            further(comparison),
            disturbed(comparison),
        ]
        lines.append("; ".join(filter(None, notes)))
    return [*lines, *filter(None, [together(document)])]


def verdict_line(
    comparison: Document, *, less: Collection[str] = (), compilers: bool = False
) -> str:
    """One comparison in one sentence, without the axes in `less`, with both compilers if asked."""
    what = name(comparison, less={"compiler", *less})
    if compilers:
        what += f" ({', '.join(map(' '.join, comparison['compilers'].items()))})"
    said = sentence(comparison, baseline=comparison["baseline"], other=comparison["framework"])
    return f"{what}: {said} ({evidence(comparison)})"


def equality(document: Document, comparison: Document) -> str:
    """What is known of the equality of the two cases' work."""
    state = comparison["equal_work"]
    cases = [document["cases"][at] for at in comparison["cases"]]
    if state == "proven":
        errors = [e for case in cases if (e := case["equal_work"]["worst"]) is not None]
        return f"equal work: proven (worst {max(errors):.0e})" if errors else "equal work: proven"
    said = f"equal work: {state.upper()}"
    if comparison["verdict"] is not None:
        for case in cases:
            if case["equal_work"] and not case["equal_work"]["proven"]:
                said += f", {case['label']}: {case['equal_work']['failures'][0]}"
    return said


def latency_lines(document: Document) -> list[str]:
    """Percentiles of step time per inference case; what the sample does not support is said."""
    lines = []
    for who, case in named_cases(document):
        times = case["step_time_ms"]
        if times and times["samples"]:
            known = {rank: times[f"p{rank:g}"] for rank in PERCENTILES}
            shown = [f"p{rank:g} {value:.4g}" for rank, value in known.items() if value is not None]
            line = f"{who}: step ms over {times['samples']} steps: {', '.join(shown)}"
            for rank, why in times["lacking"].items():
                line += f"; {rank} {why}"
            lines.append(line)
    return lines


def difference_lines(document: Document) -> list[str]:
    """What each framework does its own way, once per framework and set of differences; before
    that, their Pythons where these differ.
    """
    seen: dict[tuple[str, str], None] = {}
    for case in document["cases"]:
        if case["differences"]:
            seen[(case["label"], "; ".join(case["differences"]))] = None
    return [*python_lines(document), *(f"{label}: {text}" for label, text in seen)]


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

    said = variables_of(document)
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
            f"(tried, step time: {', '.join(tried)})"
        )
    return lines


def disturbance_lines(document: Document) -> list[str]:
    """What disturbed each case, one line for each that was."""
    lines = []
    for who, case in named_cases(document):
        if case["disturbances"]:
            texts = "; ".join(disturbance["text"] for disturbance in case["disturbances"])
            lines.append(f"DISTURBED, {who}: {texts}")
    return lines


def protocol_line(document: Document) -> str:
    """How a published protocol measured; empty for mbench's own."""
    constants = document["protocol"]
    if constants["side_by_side"]:
        return ""
    epochs = constants["epochs"] - constants["warmup_epochs"]
    warmup = max(1, constants["warmup_steps"] + constants["warmup_epochs"] * constants["steps"])
    said = f"protocol {constants['name']}: {warmup} steps of warm-up, then {constants['steps']}"
    said += f" in each of {epochs} epochs" if epochs > 1 else ""
    if constants["duration_seconds"] is not None:
        said += f" or {number(constants['duration_seconds'])} s"
    count = constants["processes"]
    said += f"; median of {count} fresh processes" if count > 1 else "; one process"
    return f"{said}; one case after the other"
