"""The result of a run, computed from its raw values: `analyse(run)`.

Every report shows these numbers and no others. Code in mbench uses the types, such as
`summary.cases[0].throughput`. For use outside mbench, `summary.to_json()` is the document that
docs/results-schema.md describes, with the same names. The axes of a case are in `case.axes`; in the
document they are merged with its other fields. So are those that two compared cases share
(`pair.shared`) and the percentiles (`case.step_time_ms.percentiles`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.contract.device import Check
from mbench.errors import UsageError
from mbench.machine.neighbours import Neighbour
from mbench.machine.records import System
from mbench.results.case_summary import CaseSummary, analyse_case
from mbench.results.comparisons import compare
from mbench.results.encoding import plain_record, record_of
from mbench.results.examined import examine
from mbench.results.facts import AbsenceRecord, Tried
from mbench.results.gate import Gate, gate_of_pairs
from mbench.results.metrics import MetricSummary, check_metric, described, known_metrics
from mbench.results.pair_summary import PairSummary
from mbench.spec.learning import Learning
from mbench.spec.protocol import Protocol

if TYPE_CHECKING:
    from mbench.results.encoding import Json
    from mbench.results.records import Run

__all__ = ["SearchSummary", "Summary", "analyse", "summarize"]


@dataclass(frozen=True, kw_only=True)
class SearchSummary:
    """What was tried for `--batch-size max` or `--compiler best`, for one framework."""

    comparison: str
    """Title of the comparison."""
    label: str
    """Label of the framework."""
    what: str
    """`batch_size` or `compiler`."""
    chosen: int | str | None
    """What was found for this framework; null if nothing ran."""
    tied: list[str]
    """Other compilers that the chosen one is not shown to be faster than."""
    tried: list[Tried]
    """All values, in the order in which they were tried."""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The result of a run."""

    schema: int
    """Version of this schema."""
    run: str
    """Name of the run and of its folder: UTC time and four random digits."""
    status: str
    """`complete`, `interrupted`, `unfinished` where the process was killed, or `nothing measured`
    where every case fell short."""
    mbench: str
    """Version of mbench that measured."""
    command: list[str]
    """The command line as it was typed."""
    started: str
    """When the run began: ISO 8601, UTC."""
    resumed: str | None
    """When it was last continued: ISO 8601, UTC; null if it was measured in one go."""
    finished: str | None
    """When it ended: ISO 8601, UTC; null where `status` is `unfinished`."""
    cut_off: bool
    """Whether the file ends in the middle of a line; everything before it is shown."""
    oddities: list[str]
    """What else is wrong with the file, in a sentence each. What follows a line that cannot be read
    is left out."""
    protocol: Protocol
    """The constants of the measurement."""
    system: System
    """The machine, before the run began."""
    checks: list[Check]
    """What [was not as it should be](methodology.md#before-measuring-mbench-doctor) on the machine
    before anything was measured, worst first; empty if nothing was found."""
    other_mbench: list[Neighbour]
    """Other runs of mbench that were seen measuring on the machine meanwhile."""
    absences: list[AbsenceRecord]
    """When mbench, a worker or a machine could not run because it was stopped, frozen or
    suspended."""
    searches: list[SearchSummary]
    """What was tried for `--batch-size max` and `--compiler best`."""
    cases: list[CaseSummary]
    """Every case, in the order of the command line."""
    metrics: dict[str, MetricSummary]
    """Metrics of the cases by name."""
    comparisons: list[PairSummary]
    """Every ratio."""
    gate: Gate | None = None
    """What `--fail-if-slower` says about every other framework against the first; null without
    it."""

    def to_json(self) -> dict[str, Json]:
        """The document of docs/results-schema.md."""
        return plain_record(self)


def analyse(
    run: Run,
    metric: str = "",
    *,
    fail_if_slower: float | None = None,
    allow_inconclusive: bool = False,
) -> Summary:
    """The result of `run`, with a gate if the slowdown that fails it is given, as a share.

    Its ratios and verdicts are about the named metric, or by default about the one that was asked
    for when it was measured. Raises UsageError if no case has such a metric, and for a training
    run.
    """
    if isinstance(run.protocol, Learning):
        raise UsageError(f"{run.id} is a training run: mbench show {run.id} shows it")
    return summarize(
        run, metric, fail_if_slower=fail_if_slower, allow_inconclusive=allow_inconclusive
    )


def summarize(
    run: Run,
    metric: str = "",
    *,
    fail_if_slower: float | None = None,
    allow_inconclusive: bool = False,
) -> Summary:
    """The result of any run, as from `analyse`; for a training run, it has everything except what
    was learnt.
    """
    cases = examine(run)
    axes = [case.axes for case in run.cases.values()]
    asked = metric or run.protocol.metric
    check_metric(asked, axes)
    pairs = compare(run, cases, metric=asked, allowance=fail_if_slower)
    return Summary(
        schema=run.header.schema,
        run=run.id,
        status=run.status,
        mbench=run.header.mbench,
        command=run.header.arguments,
        started=run.header.started,
        resumed=run.resumed.at if run.resumed else None,
        finished=run.end.finished if run.end else None,
        cut_off=run.cut_off,
        oddities=run.oddities,
        protocol=run.protocol,
        system=run.header.system,
        checks=run.checks,
        other_mbench=[record_of(Neighbour, one) for one in run.others],
        absences=[record_of(AbsenceRecord, one) for one in run.absences],
        searches=[
            SearchSummary(
                comparison=run.comparisons[found.comparison].title,
                label=found.label,
                what=found.what,
                chosen=found.chosen,
                tied=found.tied,
                tried=found.tried,
            )
            for found in run.searches
        ],
        cases=[analyse_case(case) for case in cases.values()],
        metrics={name: described(one) for name, one in known_metrics(axes).items()},
        comparisons=pairs,
        gate=None
        if fail_if_slower is None
        else gate_of_pairs(
            pairs, fail_if_slower=fail_if_slower, allow_inconclusive=allow_inconclusive
        ),
    )
