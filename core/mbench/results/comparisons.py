"""What a run's comparisons show: every two cases of each, and the verdicts of all together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import TYPE_CHECKING, Any

from mbench import stats
from mbench.contract.axes import AXES, alike
from mbench.results.figures import level, rates, speeds
from mbench.results.machine import disturbances
from mbench.results.meta_analysis import beside
from mbench.results.proof import EQUAL
from mbench.results.required_samples import next_step
from mbench.results.validity import blurred, doubts, implausible
from mbench.spec.adaptive import Adaptive

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mbench.results.events import PastRatio
    from mbench.results.records import CaseRecord, ComparisonRecord, Run
    from mbench.spec.protocol import Protocol

__all__ = ["compare"]

Document = dict[str, Any]

NO_ROUND = "no round of both was measured"


@dataclass(frozen=True)
class Compared:
    """Two cases, and their ratio where processes of both ran in pairs and may be compared."""

    comparison: ComparisonRecord
    document: Document
    ratio: stats.Ratio | None
    past: Sequence[PastRatio] = ()
    """The same of earlier runs."""


def compare(run: Run) -> list[Document]:
    """Every two cases of each comparison, in the order of the frameworks as they were named."""
    found = [
        pair_up(run, *pair, against_first=pair[0] is cases[0])
        for number in run.comparisons
        if (cases := run.cases_of(number))
        for pair in combinations(cases, 2)
    ]
    judge(found, run.header.protocol)
    return [one.document for one in found]


def pair_up(run: Run, baseline: CaseRecord, other: CaseRecord, *, against_first: bool) -> Compared:
    """What is known of two cases but for the verdict of those that ran in pairs."""
    comparison = run.comparisons[other.planned.comparison]
    positions = {number: at for at, number in enumerate(sorted(run.cases))}
    pair = (baseline, other)
    shared = alike([case.axes for case in pair]) - {"compiler"}
    document: Document = {
        "cases": [positions[case.planned.case] for case in pair],
        "baseline": baseline.planned.label,
        "framework": other.planned.label,
        "against_first": against_first,
        **{axis.name: axis.of(other.axes) for axis in AXES if axis.name in shared},
        "compilers": {case.planned.label: case.axes.compiler for case in pair},
        "setup": setup(*pair),
        "equal_work": equality(*pair),
        "ratio": None, "low": None, "high": None, "median": None,
        "process_pairs": 0, "far_off": 0, "between_builds": None, "pairs": [],
        "verdict": None, "undetermined": None, "detectable": None, "next_step": None,
        "reason": comparison.reason,
        "disturbances": [], "undisturbed": None, "past": [], "over_runs": None,
    }  # fmt: skip
    found = [(case.planned.label, one) for case in pair for one in disturbances(run, case)]
    document["disturbances"] = [f"{label}: {one.text}" for label, one in found]
    doubted = next(doubts_of(run, *pair), "")
    if fell_short := [(c.planned.label, c.outcome) for c in pair if c.outcome]:
        label, ended = fell_short[0]
        document["reason"] = f"{label} is {ended.outcome}: {ended.reason}"
    elif doubted and document["equal_work"] != "not proven":
        document |= {"equal_work": "not proven", "reason": f"no verdict: {doubted}"}
    elif unclear := next(blurs_of(*pair), ""):
        document["reason"] = f"no verdict: {unclear}"
    elif not run.header.protocol.claims_interval:
        document |= one_after_the_other(run, *pair)
    else:
        known = stats.known_scatter([c.calibration.ratios for c in pair if c.calibration])
        if ratio := stats.ratio(rates(baseline), rates(other), known=known):
            if disturbed := frozenset(at for _, one in found for at in one.rounds):
                document["undisturbed"] = undisturbed(run, *pair, less=disturbed, known=known)
            begins = {n: [one.round for one in p.builds] for n, p in other.processes.items()}
            document["between_builds"] = stats.between_builds(
                rates(baseline), rates(other), begins=begins
            )
            past = [one for (base, _), one in other.past.items() if base == baseline.planned.case]
            return Compared(comparison, document, ratio, past)
        document["reason"] = NO_ROUND
    return Compared(comparison, document, None)


def setup(*cases: CaseRecord) -> str | None:
    """The tier that all are set up by, compilers and all; None where they are by more than one,
    or where a compiler was asked for.
    """
    tiers = {case.axes.tier for case in cases}
    return tiers.pop() if len(tiers) == 1 and all(c.planned.own_compiler for c in cases) else None


def equality(*cases: CaseRecord) -> str:
    """What is known of the equality of the cases' work."""
    proofs = [case.equal_work for case in cases]
    if None in proofs:
        return "not checked"
    if not all(proof and proof.proven for proof in proofs):
        return "not proven"
    return max((proof.grade for proof in proofs if proof), key=EQUAL.index)  # the weaker one


def doubts_of(run: Run, baseline: CaseRecord, other: CaseRecord) -> Iterator[str]:
    """What speaks against the work of what was timed: of each case, and of both together."""
    for case in (baseline, other):
        yield from implausible(run, case)
        yield from doubts(case, case)
    yield from doubts(baseline, other)


def blurs_of(baseline: CaseRecord, other: CaseRecord) -> Iterator[str]:
    """What rounding hides of both."""
    for pair in ((baseline, baseline), (other, other), (baseline, other)):
        yield from blurred(*pair)


def one_after_the_other(run: Run, *pair: CaseRecord) -> Document:
    """The ratio of a protocol whose processes do not run in pairs: it has no interval."""
    protocol = run.header.protocol
    found = [median(made) for case in pair if (made := speeds(case))]
    if len(found) < 2:
        return {"reason": NO_ROUND}
    return {
        "ratio": found[1] / found[0],
        "verdict": "undetermined",
        "undetermined": f"{protocol.name} measures one case after the other, so a drift of the "
        "machine counts too",
    }


def undisturbed(
    run: Run,
    *pair: CaseRecord,
    less: frozenset[tuple[int, int]],
    known: stats.Scatter | None,
) -> Document | None:
    """The ratio without the rounds in which either case was disturbed; None where none is left."""
    calm = [
        {
            process: {at: rate for at, rate in rounds.items() if (process, at) not in less}
            for process, rounds in rates(case).items()
        }
        for case in pair
    ]
    ratio = stats.ratio(*calm, known=known)
    if ratio is None:
        return None
    interval = ratio.interval(level(run.header.protocol) or stats.CONFIDENCE)
    return {
        "ratio": interval.value,
        "low": interval.low,
        "high": interval.high,
        "process_pairs": interval.replicates,
    }


def judge(compared: Sequence[Compared], protocol: Protocol) -> None:
    """Add what each ratio shows, among all others of the run."""
    confidence = level(protocol) or stats.CONFIDENCE
    paired = [(one, one.ratio) for one in compared if one.ratio]
    ratios = [ratio for _, ratio in paired]
    intervals = [ratio.interval(confidence) for ratio in ratios]
    count = sum(interval.low is not None for interval in intervals)
    verdicts = stats.verdicts(ratios, confidence=confidence)
    for (one, ratio), interval, verdict in zip(paired, intervals, verdicts, strict=True):
        one.document.update(
            ratio=interval.value,
            low=interval.low,
            high=interval.high,
            median=ratio.median,
            process_pairs=len(ratio.pairs),
            far_off=ratio.far_off,
            pairs=[pair.total for pair in ratio.pairs],
            verdict=verdict,
            undetermined=why_not(interval, count) if verdict == "undetermined" else None,
            detectable=ratio.known and stats.detectable(ratio.known, pairs=len(ratio.pairs)),
            next_step=next_step(interval, protocol=protocol, set_seconds=one.comparison.set_seconds)
            if isinstance(protocol, Adaptive)
            else None,
            **beside(interval, one.past),
        )


def why_not(interval: stats.Interval, count: int) -> str:
    """Why there is no verdict, though there is a ratio."""
    lacking = stats.FEWEST - interval.replicates
    if lacking > 0:
        more = "pair is" if lacking == 1 else "pairs are"
        return f"{lacking} more process {more} needed"
    return f"{stats.verdict(interval)} by itself, but not among the {count} verdicts of this run"
