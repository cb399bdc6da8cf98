"""Measurements and proofs as values, which notebooks and the interpreter display."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbench.contract.axes import AXES, name
from mbench.errors import MbenchError, UsageError, why
from mbench.files import write_whole
from mbench.plugins.manager import Plugins

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    import pandas as pd
    from rich.console import RenderableType

    from mbench.learning.analyse import LearningSummary
    from mbench.learning.report import Trained
    from mbench.measure.verification import CaseProof
    from mbench.results.encoding import Json
    from mbench.results.gate import Gate
    from mbench.results.pair_summary import PairSummary
    from mbench.results.summary import Summary

__all__ = ["Interrupted", "Proof", "Proofs", "Result", "Training", "Verdict"]

ALL = {axis.name for axis in AXES}


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or a notebook's stop button; `result` holds what was done until then."""

    def __init__(self, message: str, result: Result | Proofs | Training) -> None:
        super().__init__(message)
        self.result = result


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the interval of one ratio shows; numbers are None where there is no verdict."""

    framework: str
    baseline: str
    case: Mapping[str, object] = field(repr=False)
    """The axes that both frameworks share."""
    verdict: str | None
    """One word: faster, slower, alike, ...; None if not compared."""
    sentence: str
    ratio: float | None
    """Throughput of `framework` by that of `baseline`."""
    low: float | None
    high: float | None
    pairs: int
    """Number of process pairs behind the interval."""
    equal_work: str
    """proven, shown in fp32, not proven, or not checked."""
    pair: PairSummary = field(repr=False)
    """Everything that is known about the two, as in `Result.summary`."""

    def gate(self, fail_if_slower: float | str) -> str:
        """Whether `framework` is slower than `baseline` by more than is allowed, as a share or as
        text: 0.03 or "3%".

        `passed` where the interval excludes such a slowdown; `failed` where all of it lies beyond,
        or where one of the two was not measured or is not proven to do equal work; `inconclusive`
        where the measurement is not precise enough to tell. Raises UsageError for what is not a
        share.
        """
        from mbench.results.gate import judge_pair

        return judge_pair(self.pair, allowance=allowance(fail_if_slower))[0]

    def __str__(self) -> str:
        return f"{name(self.case, less=ALL - self.case.keys())}: {self.sentence}"


@dataclass(frozen=True, repr=False)
class Result:
    """A run: its `summary`, and the `folder` with the raw values."""

    summary: Summary
    folder: Path

    @cached_property
    def document(self) -> dict[str, Json]:
        """The summary as plain data, which docs/results-schema.md describes."""
        return self.summary.to_json()

    @property
    def ok(self) -> bool:
        """Whether every case was measured: the command would exit with 0."""
        cases = self.summary.cases
        complete = self.summary.status == "complete"
        return complete and bool(cases) and all(case.outcome == "ok" for case in cases)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Verdicts on every two frameworks of each comparison, in the order they were named."""
        from mbench.reports.verdicts import sentence

        return tuple(
            Verdict(
                framework=pair.framework,
                baseline=pair.baseline,
                case=pair.shared,
                verdict=pair.verdict,
                sentence=str(sentence(self.summary, pair)),
                ratio=pair.ratio,
                low=pair.low,
                high=pair.high,
                pairs=pair.process_pairs,
                equal_work=pair.equal_work,
                pair=pair,
            )
            for pair in self.summary.comparisons
        )

    def gate(self, fail_if_slower: float | str, *, allow_inconclusive: bool = False) -> Gate:
        """What `mbench compare --fail-if-slower` says of every other framework against the first.

        Its `outcome` is `passed`, `failed` or `inconclusive`, its `exit_code` the command's, and
        `str()` its line. See `Verdict.gate`.
        """
        from mbench.results.gate import gate_of_pairs

        return gate_of_pairs(
            self.summary.comparisons,
            fail_if_slower=allowance(fail_if_slower),
            allow_inconclusive=allow_inconclusive,
        )

    @property
    def cases(self) -> pd.DataFrame:
        """A row for each case, with the columns of `--format csv`. Needs the extra "analysis"."""
        from mbench.reports.formats import csv_rows
        from mbench.results.samples import pandas

        return pandas().DataFrame(csv_rows(self.summary))

    def report(self, format_: str = "table", *, layout: str | None = None) -> str:
        """What `mbench show --format FORMAT` prints; raises UsageError for an unknown format."""
        plugins = Plugins()
        render = plugins.report(format_) if layout is None else plugins.laid_out(layout, format_)
        return shown(render(self.summary))

    def page(self, path: str | PathLike[str] = "report.html") -> Path:
        """Write the HTML page, as `mbench report` does; raises MbenchError if that fails."""
        try:
            write_whole(Path(path), self.report("html").encode(errors="replace"))
        except OSError as error:
            raise MbenchError(f"cannot write {path}: {why(error)}") from None
        return Path(path)

    def __repr__(self) -> str:
        return self.report()

    def _repr_html_(self) -> str:
        from mbench.reports.html import fragment

        return fragment(self.summary)


@dataclass(frozen=True, kw_only=True)
class Proof:
    """How the proof of one case ended."""

    framework: str
    case: Mapping[str, object] = field(repr=False)
    """The axes that proofs have."""
    proven: bool
    outcome: str
    """ok if it is proven, else another outcome, such as not-equal or unsupported."""
    reason: str


@dataclass(frozen=True, repr=False)
class Proofs:
    """Proofs of equal work: the `results` of all cases."""

    results: Sequence[CaseProof]

    @cached_property
    def document(self) -> dict[str, Json]:
        """The proofs as plain data, which docs/results-schema.md describes."""
        return {"schema": 1, "proofs": [result.to_dict() for result in self.results]}

    @property
    def proofs(self) -> tuple[Proof, ...]:
        from mbench.proofs.proof_case import PROVEN_AXES

        return tuple(
            Proof(
                framework=one.entry.label,
                case={axis.name: axis.of(one.entry.case) for axis in PROVEN_AXES},
                proven=one.outcome == "ok",
                outcome=one.outcome,
                reason=one.reason,
            )
            for one in self.results
        )

    @property
    def ok(self) -> bool:
        """Whether every case is proven: the command would exit with 0."""
        return bool(self.proofs) and all(proof.proven for proof in self.proofs)

    def __repr__(self) -> str:
        from mbench.reports.proof_table import render

        return shown(render(self.results))

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(repr(self))}</pre>"


def allowance(given: float | str) -> float:
    """A slowdown as a share of the speed; raises UsageError."""
    from mbench.spec.values import share

    try:
        return share(given, zero=True)
    except ValueError as error:
        raise UsageError(f"fail_if_slower: {error}") from None


def shown(report: RenderableType) -> str:
    """A report as the interpreter shows it."""
    from mbench.reports.terminal import Screen

    return Screen.of(sys.stdout).text(report)


@dataclass(frozen=True)
class Training:
    """A training run: what it shows, and the folder of its raw values."""

    made: Trained
    folder: Path

    @property
    def summary(self) -> LearningSummary:
        return self.made.found

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdict on each framework other than the baseline, by its label."""
        return {pair.label: pair.verdict for pair in self.summary.pairs}

    @property
    def ok(self) -> bool:
        """Whether every framework reached the end and made all of the task's steps."""
        return self.summary.ok

    def to_json(self) -> dict[str, Any]:
        from mbench.learning.report import as_json

        return as_json(self.made)

    def __str__(self) -> str:
        from mbench.learning.text import headline

        return "\n".join(headline(self.summary))
