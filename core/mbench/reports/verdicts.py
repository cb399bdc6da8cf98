"""What a comparison shows, in a sentence; every report says it in these words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rich.text import Text

from mbench.console import counted
from mbench.contract.axes import AXES, alike
from mbench.reports.text import digits_of, interval, number
from mbench.stats import ALIKE

__all__ = [
    "disturbed",
    "evidence",
    "figure",
    "further",
    "noise_note",
    "past",
    "percent",
    "sentence",
    "setup",
    "sides",
    "together",
    "turned",
]

if TYPE_CHECKING:
    from collections.abc import Collection

Document = dict[str, Any]

SETUPS = {
    "default": "as its documentation shows first",
    "tuned": "as its guide to performance advises",
    "best": "under the fastest of its compilers",
}
NUMBERED = re.compile(r"#\d+$")


def turned(comparison: Document) -> Document:
    """The comparison's numbers in the direction of its sentence: of the faster to the slower."""
    if comparison["verdict"] != "slower":
        return comparison
    calm = comparison.get("undisturbed")
    return {**comparison, **inverse(comparison), "undisturbed": calm and inverse(calm)}


def inverse(numbers: Document) -> Document:
    """A ratio and what belongs to it, the other way round."""
    ends = {"ratio": "ratio", "low": "high", "high": "low", "median": "median"}
    values = {name: numbers.get(of) for name, of in ends.items()}
    return {name: None if value is None else 1 / value for name, value in values.items()}


def figure(comparison: Document, name: str = "ratio", *, most: int = 4) -> str:
    """One of its numbers, with no more digits than its interval leaves a meaning."""
    digits = digits_of(comparison["low"], comparison["high"])
    return number(comparison[name], min(most, digits))


def sides(document: Document, comparison: Document) -> tuple[str, str]:
    """The baseline and the other: by what tells them apart where settings do, else by their labels.

    Cases that were given twice have numbers, which tell what nothing else does.
    """
    baseline, other = cases = [document["cases"][at] for at in comparison["cases"]]
    settings = any(case["label"].startswith(f"{case['spec']}:") for case in cases)
    if not settings or any(NUMBERED.search(case["label"]) for case in cases):
        return called(baseline), called(other)
    same = alike(cases)
    return with_settings(baseline, less=same), with_settings(other, less=same)


def called(case: Document) -> str:
    """Its label with its compiler."""
    return f"{case['label']} ({case['compiler']})"


def setup(comparisons: Collection[Document]) -> str:
    """How all frameworks ran that were compared; empty where not all of them were set up alike."""
    found = {one["setup"] for one in comparisons if one["verdict"] is not None}
    return f"each runs {SETUPS[found.pop()]}" if len(found) == 1 and None not in found else ""


def with_settings(case: Document, *, less: Collection[str]) -> str:
    """A framework with its values of all axes but those in `less`."""
    said, manner = case["spec"], ""
    for axis in AXES:
        if axis.name not in less and (text := axis.text(case)):
            word = "and" if axis.manner == manner else axis.manner
            said, manner = f"{said} {word} {axis.word.format(text)}", axis.manner
    return str(said)


def sentence(
    document: Document, comparison: Document, *, tier: bool = True, ends: bool = False
) -> Text:
    """Who is faster, or how large a difference is not ruled out; of the same arithmetic or not.

    With how both were set up if `tier`, and with the interval if `ends`.
    """
    baseline, other = (document["cases"][at]["precision"] for at in comparison["cases"])
    manner = SETUPS.get(comparison["setup"]) if tier else None
    said = shown(
        comparison,
        *sides(document, comparison),
        manner=f", each {manner}" if manner else "",
        ends=bracketed(turned(comparison)) if ends else "",
    )
    if baseline == other:
        return said
    return said.append(f" (not the same arithmetic: {other} against {baseline})")


def bracketed(comparison: Document) -> str:
    ends = interval(comparison["low"], comparison["high"])
    return f" ({ends})" if ends else ""


def shown(
    comparison: Document, baseline: str, other: str, *, manner: str = "", ends: str = ""
) -> Text:
    """`manner` stands behind the names that it is about, `ends` behind their number."""
    verdict = comparison["verdict"]
    if verdict in ("faster", "slower"):
        fast, slow = (other, baseline) if verdict == "faster" else (baseline, other)
        factor = figure(turned(comparison), most=3)
        won = f"{fast} is {factor} times{ends} as fast as {slow}"
        return Text.assemble((won, "winner"), manner)
    said, more = verdict or "not compared", ""
    if verdict == "alike":
        said = f"alike within {percent(ALIKE)}"
    elif verdict == "depends on stalls":
        more = f", median {figure(comparison, 'median')}, total {figure(comparison)}"
    elif verdict == "undetermined":
        more = f", {comparison['undetermined']}"
    elif verdict is not None:
        more = f", {other} may be {not_ruled_out(comparison)}"
    pair = f"{other} against {baseline}{manner}: "
    return Text.assemble(pair, (said, "inconclusive" * bool(verdict)), more, ends)


def not_ruled_out(comparison: Document) -> str:
    """How large a difference may be hidden in an interval that includes 1."""
    slower, faster = (percent(abs(comparison[end] - 1)) for end in ("low", "high"))
    return f"up to {slower} slower or {faster} faster"


def percent(share: float) -> str:
    return f"{number(100 * share, 2)} %"


def evidence(comparison: Document) -> str:
    """The numbers behind a verdict, in the direction of its sentence; else why there are none."""
    if comparison["verdict"] is None:
        return str(comparison["reason"] or "the run did not get so far")
    ours = turned(comparison)
    said = f"ratio {figure(ours)}"
    if ours["low"] is not None:
        said += f", 95 % interval {interval(ours['low'], ours['high'])}"
    if pairs := comparison["process_pairs"]:
        said += f", median of rounds {figure(ours, 'median')}, {counted(pairs, 'process pair')}"
    if comparison["far_off"]:
        said += f", {comparison['far_off']} of them far off"
    if comparison["reason"] not in (None, "all processes measured"):
        said += f"; {comparison['reason']}"
    return said


def further(comparison: Document) -> str:
    """What it would take to know more; empty where that is known well enough, or not foreseen."""
    step = comparison["next_step"]
    if step is None or comparison["verdict"] not in ("no difference shown", "undetermined"):
        return ""
    what = "a verdict" if step["half_width"] is None else f"±{percent(step['half_width'])}"
    minutes = step["seconds"] / 60
    price = f"{number(minutes, 2)} min" if minutes >= 1 else f"{number(step['seconds'], 2)} s"
    return f"{what} would take about {price}: {step['options']}"


def noise_note(comparison: Document) -> str:
    """How large a difference would be found here; empty where that is not known."""
    found = comparison["detectable"]
    return "" if found is None else f"so many pairs find {percent(found)} here"


def past(comparison: Document) -> str:
    """Whether earlier runs here agree, and what all say together; empty where there are none."""
    earlier = comparison["past"]
    if not earlier:
        return ""
    runs = counted(len(earlier), "earlier run")
    against = [one for one in earlier if one["contradicts"]]
    said = f"as in {runs} here"
    if against:
        share = f"{len(against)} of {runs}" if len(earlier) > 1 else "an earlier run"
        latest = in_direction(comparison, against[0])
        said = f"CONTRADICTED by {share} here: {latest}, {against[0]['run']}"
    if overall := comparison["over_runs"]:
        said += f"; all {overall['runs']} runs {in_direction(comparison, overall)}"
    return said


def in_direction(comparison: Document, numbers: Document) -> str:
    """Another run's ratio with its interval, in the direction of this one's sentence."""
    ours = inverse(numbers) if comparison["verdict"] == "slower" else numbers
    return f"{figure(ours)} ({interval(ours['low'], ours['high'])})"


def disturbed(comparison: Document) -> Text:
    """That it was disturbed, and what is left without those rounds; empty where it was not."""
    if not comparison["disturbances"]:
        return Text()
    calm = turned(comparison)["undisturbed"]
    if calm is None:
        return Text("DISTURBED", "disturbed")
    ends = interval(calm["low"], calm["high"]) or "no interval"
    left = f", without those rounds {figure(calm)} ({ends})"
    return Text.assemble(("DISTURBED", "disturbed"), left)


def together(document: Document) -> str:
    """That several verdicts hold together; empty where there are not several."""
    count = sum(comparison["low"] is not None for comparison in document["comparisons"])
    if count < 2:
        return ""
    return f"{count} verdicts, which hold together with 95 % (Holm); each interval by itself"
