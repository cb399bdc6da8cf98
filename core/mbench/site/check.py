"""Whether a run is fit to be published: whole, unedited, proven, released, quiet, shipped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

import mbench
from mbench.console import counted
from mbench.engine.handshake import our_digest
from mbench.errors import MbenchError
from mbench.machine.disturbances import describe
from mbench.plugins.manager import OURS
from mbench.reports.grid import Grid
from mbench.reports.remarks import Disturbances, of_kind, remarks
from mbench.results.proof import EQUAL
from mbench.results.run import file_of, load_run
from mbench.results.seal import examine_file
from mbench.results.summary import analyse

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from mbench.results.records import Run
    from mbench.results.seal import Integrity
    from mbench.results.summary import Summary

__all__ = ["NAMES", "Checked", "Finding", "check", "table"]

PASSED, FAILED, ALLOWED = "ok", "FAIL", "allowed"
NAMES = ("whole", "unedited", "proven", "released", "quiet", "shipped")
"""The checks, in their order."""
MOST = 3
"""More reasons for one check are only counted."""


@dataclass(frozen=True)
class Finding:
    """What one check found."""

    name: str
    passed: bool
    text: str
    """What was found, in one line."""


@dataclass(frozen=True)
class Checked:
    """All findings on one run."""

    run: str
    """Name of the run, or its place if it cannot be read."""
    findings: Sequence[Finding]
    allowed: Collection[str] = ()
    """Checks that need not pass."""

    @property
    def passed(self) -> bool:
        return not self.failed

    @property
    def failed(self) -> list[str]:
        """Names of the checks that failed and are not allowed to."""
        return [one.name for one in self.findings
                if not one.passed and one.name not in self.allowed]  # fmt: skip

    def level(self, one: Finding) -> str:
        if one.passed:
            return PASSED
        return ALLOWED if one.name in self.allowed else FAILED


def check(place: Path, *, allowed: Collection[str] = ()) -> Checked:
    """Every check of the run at `place`; a run that cannot be read is not whole."""
    found: list[Finding] = []
    try:
        integrity = examine_file(file_of(place))
        found.append(
            Finding("unedited", not integrity.reason, integrity.reason or "the digest matches")
        )
        run = load_run(place)
        summary = analyse(run)
    except MbenchError as error:
        return Checked(str(place), [Finding("whole", False, str(error)), *found], allowed)
    except (ArithmeticError, ValueError) as error:  # values that no measurement gives
        why = f"its values cannot be evaluated: {type(error).__name__}: {error!s:.100}"
        return Checked(str(place), [Finding("whole", False, why), *found], allowed)
    found = [
        whole(summary, integrity),
        *found,
        proven(summary),
        released(run),
        quiet(summary),
        shipped(run),
    ]
    return Checked(run.id, found, allowed)


def whole(summary: Summary, integrity: Integrity) -> Finding:
    """The run was measured to its end, and its file has every line."""
    wrong = []
    if summary.cut_off:
        wrong.append("the file ends in the middle of a line")
    wrong += summary.oddities
    if summary.status != "complete":
        wrong.append(f"the run is {summary.status}")
    if not any(case.outcome == "ok" for case in summary.cases):
        wrong.append("no case was measured")
    return finding("whole", wrong, f"complete, {counted(integrity.lines, 'line')}")


def proven(summary: Summary) -> Finding:
    """Every case that was measured has a proof, and none is contradicted by what was timed."""
    measured = [case for case in summary.cases if case.outcome == "ok"]
    wrong = [
        f"{case.label}, {case.axes.model} {case.axes.mode}: "
        + (proof.failures[0] if (proof := case.equal_work) and proof.failures else "not checked")
        for case in measured
        if not (case.equal_work and case.equal_work.proven and case.equal_work.grade in EQUAL)
    ]
    wrong += [] if measured else ["no case was measured"]
    wrong += [doubt for case in measured for doubt in case.doubts]
    wrong += [
        f"{pair.framework} against {pair.baseline}: {pair.reason or pair.equal_work}"
        for pair in summary.comparisons
        if pair.equal_work not in EQUAL and pair.ended is None
    ]
    good = f"equal work of {counted(len(measured), 'case')}"
    return finding("proven", dict.fromkeys(wrong), good)


def released(run: Run) -> Finding:
    """A released mbench measured the run, with unchanged code as far as can be checked here."""
    sessions = [(run.header.mbench, run.header.source)]
    sessions += [(resumed.mbench, resumed.source) for resumed in run.resumptions]
    wrong = [why for version, source in sessions if (why := unreleased(version, source))]
    known = dict.fromkeys(version for version, _ in sessions)
    same = all(source == our_digest() for _, source in sessions)
    code = "the code of this mbench" if same else "its code cannot be compared with this one's"
    return finding("released", dict.fromkeys(wrong), f"mbench {' and '.join(known)}, {code}")


def unreleased(version: str, source: str) -> str:
    """Why this is not a released mbench; empty where it may be one."""
    try:
        parsed, ours = Version(version), Version(mbench.__version__)
    except InvalidVersion:
        return f"{version!r:.40} is not a version of mbench"
    if parsed.is_prerelease or parsed.local:
        return f"mbench {version} is not a release"
    if parsed > ours:
        return f"mbench {version} is newer than this one ({ours}): check it with that version"
    if parsed == ours and source != our_digest():
        return f"its code differs from that of mbench {version} here"
    return ""


def quiet(summary: Summary) -> Finding:
    """Nothing disturbed the machine while it measured."""
    seen = [remark.value for remark in of_kind(remarks(summary), Disturbances)]
    wrong = [describe(one.found) for one in seen if isinstance(one, Disturbances)]
    if others := len(summary.other_mbench):
        wrong.append(f"{counted(others, 'other mbench process')} measured at the same time")
    return finding("quiet", wrong, "nothing disturbed the machine")


def shipped(run: Run) -> Finding:
    """Every adapter is one of mbench's own distributions."""
    known = {case.planned.framework: case.planned.distribution for case in run.cases.values()}
    wrong = [
        f"{framework} is measured by {f'an adapter of {name}' if name else 'an unknown adapter'}"
        for framework, name in known.items()
        if name != OURS and not name.startswith(f"{OURS}-")
    ]
    wrong += [] if known else ["no case was measured"]
    return finding("shipped", wrong, f"adapters of mbench: {', '.join(known)}")


def finding(name: str, wrong: Iterable[str], good: str) -> Finding:
    reasons = list(wrong)
    more = f"; {len(reasons) - MOST} more" if len(reasons) > MOST else ""
    return Finding(name, not reasons, "; ".join(reasons[:MOST]) + more or good)


def answer(found: Checked) -> str:
    """Whether the run can be published, and if not, why."""
    if not found.passed:
        return f"{found.run} should not be published: {', '.join(f'not {n}' for n in found.failed)}"
    let = [one.name for one in found.findings if found.level(one) == ALLOWED]
    return f"{found.run} can be published" + (f", though not {' and '.join(let)}" if let else "")


def table(found: Checked) -> Grid:
    """The answer, and a row for each check."""
    rows = [[found.level(one), one.name, one.text] for one in found.findings]
    return Grid(answer(found), ("state", "check", "found"), rows)
