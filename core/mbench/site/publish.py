"""One run on the site: read, evaluated, its page written, and what the other pages need from it."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mbench.errors import MbenchError
from mbench.explain.analysis import breakdown_of, load
from mbench.explain.page import section
from mbench.explain.states import explained
from mbench.plugins.manager import OURS
from mbench.reports.headline import headline
from mbench.reports.html import page
from mbench.reports.html.facts import portable
from mbench.reports.html.parts import Within
from mbench.results.summary import analyse
from mbench.site.collect import LeftOut, reason_of
from mbench.site.names import scrubbed, slug

if TYPE_CHECKING:
    from pathlib import Path

    from mbench.machine.records import System
    from mbench.results.case_summary import CaseSummary
    from mbench.results.seal import Integrity
    from mbench.results.summary import Summary
    from mbench.site.collect import Candidate

__all__ = ["LINKS", "Machine", "Published", "publish"]

LINKS = (("All results", "index.html"), ("Feed", "feed.atom"), ("CSV", "results.csv"),
         ("JSON", "results.json"))  # fmt: skip
"""Links on every page."""


@dataclass(frozen=True)
class Machine:
    """Where a run was measured."""

    host: str
    about: str
    """Its processor, cores and devices."""

    @property
    def key(self) -> str:
        """What its page is named after."""
        return f"{self.host} {self.about}"

    @property
    def page(self) -> str:
        return f"machines/{slug(self.key)}.html"

    @classmethod
    def of(cls, system: System) -> Machine:
        gpus = [str(gpu.get("name")) for gpu in system.gpus]
        cores = f"{system.usable_cores} core{'s' * (system.usable_cores != 1)}"
        words = [system.cpu.partition(",")[0], cores, *gpus]
        return cls(system.hostname, ", ".join(filter(None, words)))


@dataclass(frozen=True)
class Published:
    """A run that the site shows; its summary leaves out raw values and packages."""

    summary: Summary
    integrity: Integrity
    slug: str
    headline: str
    command: str
    """The command that repeats the run."""
    external: frozenset[str]
    """Labels of frameworks whose adapters are not mbench's own."""

    @property
    def machine(self) -> Machine:
        return Machine.of(self.summary.system)

    @property
    def day(self) -> str:
        return self.summary.started[:10]

    @property
    def page(self) -> str:
        return f"runs/{self.slug}.html"

    @property
    def raw(self) -> str:
        return f"raw/{self.slug}.jsonl"


def publish(found: Candidate, site: Path, known: Path | None) -> Published | LeftOut:
    """Write the run's page, or copy the `known` one, and its raw file. An error in a stranger's
    file leaves the file out; only OSError is passed on.
    """
    try:
        return written(found, site, known)
    except MbenchError as error:
        return LeftOut(found.name, scrubbed(reason_of(error, found.path, found.name)))
    except OSError:  # a full disk is not the file's fault
        raise
    except Exception as error:  # values that no measurement has
        what = f"its values cannot be evaluated ({type(error).__name__}: {error!s:.100})"
        return LeftOut(found.name, scrubbed(f"{found.name}: {what}"))


def written(found: Candidate, site: Path, known: Path | None) -> Published:
    run = load(found.path)
    if run.damage is not None and not run.damage.last:
        damaged = f"line {run.damage.line} is damaged ({run.damage.why})"
        raise MbenchError(f"{found.path}: {damaged}")
    summary = scrubbed(analyse(run))
    words, _ = portable(summary.command)
    made = Published(
        summary=lean(summary),
        integrity=found.integrity,
        slug=found.slug,
        headline=headline(summary),
        command=shlex.join(words),
        external=frozenset(
            case.planned.label
            for case in run.cases.values()
            if case.planned.distribution != OURS
            and not case.planned.distribution.startswith(f"{OURS}-")
        ),
    )
    shutil.copyfile(found.path, site / made.raw)
    if known is not None:
        shutil.copyfile(known, site / made.page)
        return made
    more = {}
    if breakdown_of(run) and (broken := section(explained(run))):
        more[summary.run] = [scrubbed(broken)]
    links = (*LINKS, ("Raw file of this run", made.raw))
    text = page([summary], more=more, within=Within("../", links))
    (site / made.page).write_text(text, encoding="utf-8", errors="replace")
    return made


def lean(summary: Summary) -> Summary:
    """The summary without what only the run's own page shows, which is most of it."""
    return replace(summary, cases=[*map(lean_case, summary.cases)])


def lean_case(case: CaseSummary) -> CaseSummary:
    speed, proof = case.throughput, case.equal_work
    return replace(
        case,
        throughput=speed and replace(speed, rounds=[]),
        equal_work=proof and replace(proof, findings=[], notes=[]),
        telemetry=None, framework_info=None, environment=None, ceiling=None, nodes=[],
    )  # fmt: skip
