"""Continues a run: finds what is missing, and whether it is still the same run."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.contract.secrets import masked_values
from mbench.engine.outcome import CaseEnded
from mbench.errors import UsageError
from mbench.spec.experiment import differences as differences_of
from mbench.spec.planning import supports

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.machine.records import Machine, System
    from mbench.measure.environment_pool import EnvironmentPool
    from mbench.measure.preflight import Checked
    from mbench.results.records import Run
    from mbench.spec.planning import Comparison, Entry

__all__ = ["first_missing", "is_done", "is_ended", "is_written", "take_up"]

MACHINE = ("hostname", "os", "cpu", "physical_cores", "logical_cores", "usable_cores",
           "default_threads", "governor",
           "transparent_huge_pages", "memory_bytes", "gpus", "variables")  # fmt: skip
NODE = tuple(key for key in MACHINE if key not in ("hostname", "variables"))


def is_done(run: Run, comparison: Comparison) -> bool:
    """Whether a comparison was measured completely."""
    known = run.comparisons.get(comparison.number)
    return known is not None and known.reason is not None


def is_written(run: Run, comparison: Comparison) -> bool:
    """Whether `run` has all cases of a comparison."""
    return all(entry.number in run.cases for entry in comparison.entries)


def is_ended(run: Run, entry: Entry) -> bool:
    """Whether a case ended early. That is a result, so it is not measured again."""
    known = run.cases.get(entry.number)
    return known is not None and known.outcome is not None


def first_missing(run: Run | None, entries: Sequence[Entry]) -> int:
    """The first process that not all of `entries` have completed."""
    if run is None or not entries:  # `entries` is empty if all cases ended early
        return 0
    number = 0
    records = [run.cases[entry.number] for entry in entries if entry.number in run.cases]
    while len(records) == len(entries) and all(
        (process := record.processes.get(number)) and process.idle_look is not None
        for record in records
    ):
        number += 1
    return number


def take_up(
    run: Run,
    checked: Checked,
    *,
    system: System,
    environments: EnvironmentPool,
    there: Mapping[str, Machine],
) -> Checked:
    """`checked` with what `run` had already found for its comparisons.

    Raises UsageError with all differences if it would not be the same run: a different experiment,
    a different machine here or where processes are started, or different versions.
    """
    comparisons = checked.comparisons
    differences = [
        *differences_of(run.header.experiment, checked.experiment),
        *changes(*({key: getattr(s, key) for key in MACHINE} for s in (run.header.system, system))),
        *node_changes(run, there),
    ]
    refuse(run, differences)
    settled = []
    for comparison in comparisons:  # plans may still differ, as plugins do
        known = run.comparisons.get(comparison.number)
        if known and known.title != comparison.title:
            differences.append(
                f"comparison {comparison.number + 1} was {known.title}, is {comparison.title}"
            )
        settled.append(as_found(run, comparison, differences))
    if len(run.comparisons) > len(comparisons):
        differences.append(
            f"{counted(len(run.comparisons), 'comparison')} then, {len(comparisons)} now"
        )
    if not differences:  # look for environments only if all else is the same
        missing = [c for c in settled if not is_done(run, c) or c.number in checked.further]
        for entry in {e.spec.text: e for c in missing for e in c.entries}.values():
            differences += environment_changes(run, entry, environments)
    refuse(run, differences)
    return replace(checked, comparisons=tuple(settled))


def refuse(run: Run, differences: Sequence[str]) -> None:
    """Raises UsageError with the `differences` if there are any."""
    if differences:
        raise UsageError(f"{run.id} cannot be resumed: {'; '.join(differences)}")


def node_changes(run: Run, there: Mapping[str, Machine]) -> list[str]:
    """How the machines where processes are started differ, in words, by host.

    A cluster may give a job other machines than before: each must be like one used earlier.
    """
    known = {host: node.system for case in run.cases.values() for host, node in case.nodes.items()}
    found = []
    for host, machine in there.items():
        before = [known[host]] if host in known else list(known.values())
        differences = [
            changes(*({key: getattr(s, key) for key in NODE} for s in (one, machine.system)))
            for one in before
        ]
        if host and differences and all(differences):
            found.append(f"{host}: {', '.join(differences[0])}")
    return found


def as_found(run: Run, comparison: Comparison, differences: list[str]) -> Comparison:
    """`comparison` as the run recorded it, with the batch size and compilers it had found."""
    if not is_written(run, comparison):
        return comparison  # it had not begun, or was still searching
    known = [run.cases[entry.number] for entry in comparison.entries]
    entries = []
    for entry, record in zip(comparison.entries, known, strict=True):
        open_axes = ("compiler", "batch_size") if not comparison.settled else ()
        before = {**asdict(record.axes), "spec": record.planned.spec}
        own = entry.case.variables  # runs do not store all of their values
        now = {**asdict(entry.case), "variables": masked_values(own), "spec": entry.spec.text}
        if found := changes(before, now, leave=open_axes):
            differences.append(f"{comparison.title}, {entry.label}: {', '.join(found)}")
        case = replace(record.axes, variables=own)
        # The plan's answer is for the placeholder, not for the compiler that was found.
        support = supports(entry.adapter, case) if comparison.best_compiler else entry.support
        entries.append(replace(entry, case=case, support=support))
    return replace(comparison, entries=tuple(entries), largest_batch=False, best_compiler=False)


def environment_changes(run: Run, entry: Entry, environments: EnvironmentPool) -> list[str]:
    """What is installed differently than when `run` measured."""
    recorded = [
        record.environment
        for record in run.cases.values()
        if record.environment and record.planned.spec == entry.spec.text
    ]
    if not recorded:
        return []
    try:
        now = environments.environment_for(entry)
    except CaseEnded as end:
        return [f"{entry.spec.text}: {end.reason}"]
    before = recorded[-1]
    found = changes(before.packages, now.packages)
    if before.python != str(now.python):
        found.append(f"python was {before.python}, is {now.python}")
    return [f"{entry.spec.text}: {', '.join(found)}"] if found else []


def changes(
    before: Mapping[str, object], now: Mapping[str, object], *, leave: Sequence[str] = ()
) -> list[str]:
    """What differs, each as "key was a, is b"."""
    return [
        f"{key} was {before.get(key)}, is {now.get(key)}"
        for key in dict.fromkeys((*before, *now))
        if key not in leave and before.get(key) != now.get(key)
    ]
