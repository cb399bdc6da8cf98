"""Sections of facts: the proof, what differs, disturbances, the machine, and how to repeat it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from mbench.console import counted, span
from mbench.contract.axes import MACHINE
from mbench.machine.disturbances import describe
from mbench.proofs.proof_case import PROVEN_AXES
from mbench.reports.cases import labelled_axes, named, one_compiler_each, shared_axes, unspoken
from mbench.reports.grid import Grid
from mbench.reports.html.parts import Figure, Section
from mbench.reports.proof_table import cell
from mbench.reports.remark_text import lines
from mbench.reports.remarks import Doubts, Integers, OwnWays, Pythons, of_kind
from mbench.reports.text import number, percent
from mbench.results.difference import variables_of
from mbench.results.encoding import plain_record
from mbench.spec.adaptive import Adaptive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.reports.remarks import Remark
    from mbench.results.proof import ProofRecord
    from mbench.results.summary import Summary
    from mbench.spec.protocol import Protocol

__all__ = ["sections"]

# Options that say where the author's files went, and the path of a Python in NAME@PATH.
WRITES = frozenset({"--results", "--output", "-o", "--resume"})
PYTHON = re.compile(r"(^(?:--[\w-]+=)?|,)([\w.-]+)@[^,:\s]*/(?:[^,:]|::)*")
# Characters of a digest: enough to tell environments apart.
DIGEST = 12


def sections(summary: Summary, found: Sequence[Remark]) -> list[Section]:
    made = (
        proof(summary),
        differences(found),
        doubted(found),
        disturbed(summary),
        places(summary),
        reproduce(summary),
    )
    return [section for section in made if section is not None]


def proof(summary: Summary) -> Section | None:
    """Each check of each proof with its largest error."""
    proofs: dict[tuple[str, ...], ProofRecord] = {}
    unsaid = MACHINE | unspoken(summary.cases)
    axes = [axis for axis in PROVEN_AXES if axis.name not in unsaid]
    notes: dict[str, None] = {}
    for case in summary.cases:
        if made := case.equal_work:
            key = (case.label, *(axis.text(case.axes) for axis in axes))
            proofs[key] = made
            who = f"{case.label}, {case.axes.model} {case.axes.mode}"
            notes |= {f"{who}: {text}": None for text in (*made.failures, *made.notes)}
    if not proofs:
        return None
    checks = list(dict.fromkeys(f.check for made in proofs.values() for f in made.findings))
    columns = [axis.column for axis in axes]
    rows = [
        [*key, *(cell(made, check) for check in checks),
         made.grade if made.proven else "NOT PROVEN"]
        for key, made in proofs.items()
    ]  # fmt: skip
    lead = (
        "What each framework computed from the same weights and data was compared with a "
        "reference in float64. A cell is the largest relative error of a check; the timed column "
        "is for the exact configuration that was measured."
    )
    names = ("framework", *columns, *checks, "verdict")
    table = Grid("Largest error of each check", names, rows,
                 numeric=frozenset(checks)).without_repeated(*columns)  # fmt: skip
    return Section("proof", "Equal work", lead, [Figure(table=table)], list(notes))


def differences(found: Sequence[Remark]) -> Section | None:
    notes = [*map(str, lines(of_kind(found, Pythons, Integers, OwnWays)))]
    if not notes:
        return None
    lead = "What each framework does in its own way, because it could not be made the same."
    return Section("differences", "What differs between the frameworks", lead, notes=notes)


def doubted(found: Sequence[Remark]) -> Section | None:
    notes = [*map(str, lines(of_kind(found, Doubts)))]
    if not notes:
        return None
    lead = "The results of the timed processes contradict the proof, so there is no verdict."
    return Section("doubts", "Doubts", lead, notes=notes)


def disturbed(summary: Summary) -> Section | None:
    """What happened, to which case, and in how many of its rounds."""
    cases = summary.cases
    less = {*unspoken(cases), *shared_axes(cases), *labelled_axes(cases)}
    less |= {"compiler"} if one_compiler_each(cases) else set()
    rows = [
        [named(case, less=less), case.label, describe([one], rounds=False),
         f"{100 * one.share:.0f} %"]
        for case in cases
        for one in case.disturbances
    ]  # fmt: skip
    if not rows:
        return None
    table = Grid("Disturbances", ("case", "framework", "what happened", "rounds"), rows,
                 numeric=frozenset({"rounds"})).without_repeated("case")  # fmt: skip
    lead = (
        "What disturbed the machine during the measurement, and in how many of the rounds. A "
        "disturbance that affects frameworks unequally may distort the ratio."
    )
    return Section("disturbances", "Disturbances", lead, [Figure(table=table)])


SYSTEM = {
    "hostname": "host", "os": "system", "cpu": "processor", "physical_cores": "physical cores",
    "logical_cores": "logical cores", "usable_cores": "usable cores",
    "default_threads": "threads by default", "threads_because": "decided by",
    "governor": "governor", "current_mhz": "clock, MHz", "memory_bytes": "memory, GiB",
    "transparent_huge_pages": "transparent huge pages", "load_average": "load before the run",
    "python": "Python of mbench", "variables": "variables that tune workers",
}  # fmt: skip


def places(summary: Summary) -> Section:
    """The machine, each framework's build beside the others', and every package folded away."""
    system = plain_record(summary.system) | {
        "memory_bytes": summary.system.memory_bytes / 2**30,
        "variables": variables_of(summary.system.variables),
    }
    rows = [
        [title, said(system[name])]
        for name, title in SYSTEM.items()
        if system[name] not in (None, "", [], {})
    ]
    rows += [[f"GPU {at}", said(gpu)] for at, gpu in enumerate(summary.system.gpus)]
    rows += [["how it measured", text] for text in [method(summary.protocol)] if text]
    machine = Figure(title="Machine", table=Grid("Machine", ("what", "value"), rows))
    return Section("places", "Machine and environments", figures=[machine, *environments(summary)])


def method(protocol: Protocol) -> str:
    """The plan of mbench's own protocol; empty for others, which the top of the page describes."""
    if not isinstance(protocol, Adaptive):
        return ""
    goal = protocol.half_width_goal
    enough = counted(protocol.processes, "process")
    if goal is not None:
        enough = f"{protocol.processes} to {protocol.most_processes} processes, until all "
        enough += f"intervals are within ±{percent(goal)},"
    rounds = protocol.rounds or f"{protocol.fewest_rounds} to {protocol.most_rounds}"
    built = f", built {protocol.builds} times each" if protocol.builds > 1 else ""
    return (
        f"{enough} of each framework{built}, taking turns; {rounds} rounds of "
        f"{number(protocol.block_seconds)} s each; at most {span(protocol.budget_seconds)} for "
        "each comparison"
    )


def said(value: object) -> str:
    """A value of a run's file as text."""
    if isinstance(value, list):
        return ", ".join(map(said, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name.replace('_', ' ')} {said(inner)}" for name, inner in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value)
    return "none" if value is None else str(value)


def environments(summary: Summary) -> list[Figure]:
    """Where each framework ran: a column per framework, and all packages of each."""
    facts: dict[str, dict[str, str]] = {}
    packages = []
    for case in summary.cases:
        info, environment = case.framework_info, case.environment
        if case.label in facts or not (info or environment):
            continue
        of = facts[case.label] = {}
        if info:
            of |= {"version": info.version, "device": info.device_name,
                   "threads": str(info.threads)}  # fmt: skip
            of |= {what: said(value) for what, value in info.details.items()}
        if environment:
            of |= {"Python": environment.python, "managed by mbench": said(environment.managed)}
            of |= {"digest": environment.digest[:DIGEST]} if environment.digest else {}
            items = [f"{name} {version}" for name, version in sorted(environment.packages.items())]
            if items:
                title = f"All {len(items)} packages of {case.label}"
                packages.append(Figure(title=title, items=items, shut=True))
    if not facts:
        return []
    whats = list(dict.fromkeys(what for of in facts.values() for what in of))
    rows = [[what, *(of.get(what, "") for of in facts.values())] for what in whats]
    table = Grid("Environments", ("what", *facts), rows)
    return [Figure(title="Environments", table=table), *packages]


def reproduce(summary: Summary) -> Section:
    """The command, without the folders of whoever ran it."""
    started, finished = (
        (end or "interruption")[:16].replace("T", " ")
        for end in (summary.started, summary.finished)
    )
    words, own = portable(summary.command)
    lead = "The paths of the author's own Pythons are left out."
    about = (f"mbench {summary.mbench}", f"run {summary.run}", f"{started} to {finished} UTC")
    return Section("reproduce", "How to repeat it", lead if own else "", about=about,
                   code=[shlex.quote(word) for word in words])  # fmt: skip


def portable(words: list[str]) -> tuple[list[str], bool]:
    """A command without `WRITES` options and paths of Pythons, and whether it had such paths."""
    kept, skip = [], False
    for word in words:
        if not skip and word.partition("=")[0] not in WRITES:
            kept.append(word)
        skip = word in WRITES and not skip
    bare = [PYTHON.sub(r"\1\2", word) for word in kept]
    return bare, bare != kept
