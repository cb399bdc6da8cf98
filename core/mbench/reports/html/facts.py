"""Sections of facts: the proof, what differs, disturbances, the machine, and how to repeat it."""

from __future__ import annotations

import shlex
from typing import Any

from mbench.contract.axes import MACHINE, hushed
from mbench.equality.proof_case import PROVEN
from mbench.reports.grid import Grid
from mbench.reports.html.parts import Figure, Section, title_of
from mbench.reports.proofs import cell
from mbench.reports.remarks import difference_lines, disturbance_lines
from mbench.reports.text import number

__all__ = ["sections"]

Document = dict[str, Any]


def sections(document: Document) -> list[Section]:
    made = (
        proof(document),
        differences(document),
        disturbed(document),
        machine(document),
        environments(document),
        reproduce(document),
    )
    return [section for section in made if section is not None]


def proof(document: Document) -> Section | None:
    """Each check of each proof with its largest error."""
    proofs = {}
    unsaid = MACHINE | hushed(document["cases"])
    axes = [axis for axis in PROVEN if axis.name not in unsaid]
    for case in document["cases"]:
        if case["equal_work"]:
            key = (title_of(case), *(axis.text(case) for axis in axes))
            proofs[key] = case["equal_work"]
    if not proofs:
        return None
    checks = list(dict.fromkeys(f["check"] for made in proofs.values() for f in made["findings"]))
    named = [axis.column for axis in axes]
    columns = ("framework", *named, *checks, "verdict")
    rows = [
        [*key, *(cell(made, check) for check in checks),
         "proven" if made["proven"] else "NOT PROVEN"]
        for key, made in proofs.items()
    ]  # fmt: skip
    notes = []
    for (name, model, mode, *_), made in proofs.items():
        texts = [*made["failures"], *made.get("notes", [])]
        notes += [f"{name}, {model} {mode}: {text}" for text in texts]
    lead = (
        "From the same weights and data, what each framework computed was held against a reference "
        "in float64. A cell is the largest relative error of a check; the column timed is of the "
        "very configuration that was measured."
    )
    table = Grid("Largest error of each check", columns, rows, numeric=frozenset(checks))
    table = table.without_repeated(*named)
    return Section("proof", "Equal work", lead, [Figure(table=table)], list(dict.fromkeys(notes)))


def differences(document: Document) -> Section | None:
    notes = difference_lines(document)
    if not notes:
        return None
    lead = "What each framework does its own way, and could not be made the same."
    return Section("differences", "What differs between the frameworks", lead, notes=notes)


def disturbed(document: Document) -> Section | None:
    notes = disturbance_lines(document)
    if not notes:
        return None
    lead = "What happened on the machine while it measured, and may have moved the numbers."
    return Section("disturbances", "Disturbances", lead, notes=notes)


SYSTEM = {
    "hostname": "host", "os": "system", "cpu": "processor", "physical_cores": "physical cores",
    "logical_cores": "logical cores", "usable_cores": "usable cores", "governor": "governor",
    "current_mhz": "clock, MHz", "memory_bytes": "memory, GiB",
    "transparent_huge_pages": "transparent huge pages", "load_average": "load before the run",
    "python": "Python of mbench", "variables": "variables that tune workers",
}  # fmt: skip


def machine(document: Document) -> Section | None:
    system = dict(document["system"])
    if isinstance(system.get("memory_bytes"), int | float):
        system["memory_bytes"] /= 2**30
    rows = [
        [title, said(system[name])]
        for name, title in SYSTEM.items()
        if system.get(name) not in (None, "", [], {})
    ]
    rows += [[f"GPU {at}", said(gpu)] for at, gpu in enumerate(system.get("gpus") or [])]
    rows.append(["protocol", said(document["protocol"])])
    return Section(
        "machine", "The machine", figures=[Figure(table=Grid("Machine", ("what", "value"), rows))]
    )


def said(value: Any) -> str:
    """Any value of a run's file as text."""
    if isinstance(value, list):
        return ", ".join(map(said, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {said(inner)}" for name, inner in value.items())
    if isinstance(value, float):
        return number(value)
    return "none" if value is None else str(value)


def environments(document: Document) -> Section | None:
    """The framework's build in sight, every package folded away."""
    figures = []
    seen = set()
    for case in document["cases"]:
        info, home = case["framework_info"], case["environment"]
        if case["label"] in seen or not (info or home):
            continue
        seen.add(case["label"])
        rows = []
        if info:
            rows += [["version", info["version"]], ["device", info["device_name"]],
                     ["threads", str(info["threads"])]]  # fmt: skip
            rows += [[name, said(value)] for name, value in info["details"].items()]
        if home:
            rows += [["Python", home["python"]], ["managed by mbench", said(home["managed"])],
                     ["digest", said(home["digest"])]]  # fmt: skip
        name = title_of(case)
        figures.append(
            Figure(title=name, table=Grid(f"Environment of {name}", ("what", "value"), rows),
                   folded=True)
        )  # fmt: skip
        if home and home["packages"]:
            packages = [[package, said(v)] for package, v in sorted(home["packages"].items())]
            table = Grid(
                f"All {len(packages)} packages of {name}", ("package", "version"), packages
            )
            figures.append(Figure(table=table, folded=True))
    lead = "Where each framework lived, and the build of it that was measured."
    return Section("environments", "Environments", lead, figures) if figures else None


def reproduce(document: Document) -> Section:
    lead = (
        f"Measured by mbench {document['mbench']}, run {document['run']}, from "
        f"{document['started']} to {document['finished'] or 'an interruption'}."
    )
    command = shlex.join(map(str, document["command"]))
    return Section("reproduce", "How to repeat it", lead, code=command)
