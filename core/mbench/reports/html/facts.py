"""Sections of facts: the proof, what differs, disturbances, the machine, and how to repeat it."""

from __future__ import annotations

import re
import shlex
from typing import Any

from mbench.contract.axes import MACHINE, alike, hushed
from mbench.proofs.proof_case import PROVEN_AXES
from mbench.reports.grid import Grid
from mbench.reports.headline import named, one_compiler_each, told
from mbench.reports.html.parts import Figure, Section
from mbench.reports.proofs import cell
from mbench.reports.remarks import difference_lines, doubt_lines
from mbench.reports.text import number

__all__ = ["sections"]

Document = dict[str, Any]

# Options that say where the author's files went, and the path of a Python in NAME@PATH.
WRITES = frozenset({"--results", "--output", "--resume"})
PYTHON = re.compile(r"(^(?:--[\w-]+=)?|,)([\w.-]+)@[^,:\s]*/(?:[^,:]|::)*")
# Signs of a digest that tell environments apart.
DIGEST = 12


def sections(document: Document) -> list[Section]:
    made = (
        proof(document),
        differences(document),
        doubted(document),
        disturbed(document),
        places(document),
        reproduce(document),
    )
    return [section for section in made if section is not None]


def proof(document: Document) -> Section | None:
    """Each check of each proof with its largest error."""
    proofs = {}
    unsaid = MACHINE | hushed(document["cases"])
    axes = [axis for axis in PROVEN_AXES if axis.name not in unsaid]
    for case in document["cases"]:
        if case["equal_work"]:
            key = (case["label"], *(axis.text(case) for axis in axes))
            proofs[key] = case["equal_work"]
    if not proofs:
        return None
    checks = list(dict.fromkeys(f["check"] for made in proofs.values() for f in made["findings"]))
    named = [axis.column for axis in axes]
    columns = ("framework", *named, *checks, "verdict")
    rows = [
        [*key, *(cell(made, check) for check in checks),
         made["grade"] if made["proven"] else "NOT PROVEN"]
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


def doubted(document: Document) -> Section | None:
    notes = doubt_lines(document)
    if not notes:
        return None
    lead = "What the timed processes left speaks against their work: there is no verdict on it."
    return Section("doubts", "Doubts", lead, notes=notes)


def disturbed(document: Document) -> Section | None:
    """What happened, to which case, and in how many of its rounds."""
    cases = document["cases"]
    less = {*hushed(cases), *alike(cases), *told(cases)}
    less |= {"compiler"} if one_compiler_each(document) else set()
    rows = []
    for case in document["cases"]:
        for one in case["disturbances"]:
            share = f"{100 * one['share']:.0f} %"
            text = one["text"].removesuffix(f" in {share} of the rounds")
            rows.append([named(case, less=less), case["label"], text, share])
    if not rows:
        return None
    table = Grid("Disturbances", ("case", "framework", "what happened", "rounds"), rows,
                 numeric=frozenset({"rounds"})).without_repeated("case")  # fmt: skip
    lead = (
        "What happened on the machine while it measured, and in how many of the rounds. What hits "
        "one framework more than the other may bend the ratio."
    )
    return Section("disturbances", "Disturbances", lead, [Figure(table=table)])


SYSTEM = {
    "hostname": "host", "os": "system", "cpu": "processor", "physical_cores": "physical cores",
    "logical_cores": "logical cores", "usable_cores": "usable cores", "governor": "governor",
    "current_mhz": "clock, MHz", "memory_bytes": "memory, GiB",
    "transparent_huge_pages": "transparent huge pages", "load_average": "load before the run",
    "python": "Python of mbench", "variables": "variables that tune workers",
}  # fmt: skip


def places(document: Document) -> Section:
    """The machine, each framework's build beside the others', and every package folded away."""
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
    machine = Figure(title="Machine", table=Grid("Machine", ("what", "value"), rows))
    return Section("places", "Machine and environments", figures=[machine, *homes(document)])


def said(value: Any) -> str:
    """Any value of a run's file as text."""
    if isinstance(value, list):
        return ", ".join(map(said, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {said(inner)}" for name, inner in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value)
    return "none" if value is None else str(value)


def homes(document: Document) -> list[Figure]:
    """Where each framework lived, a column for each."""
    facts: dict[str, dict[str, str]] = {}
    packages = []
    for case in document["cases"]:
        info, home = case["framework_info"], case["environment"]
        name = case["label"]
        if name in facts or not (info or home):
            continue
        of = facts[name] = {}
        if info:
            of |= {"version": info["version"], "device": info["device_name"],
                   "threads": str(info["threads"])}  # fmt: skip
            of |= {what: said(value) for what, value in info["details"].items()}
        if home:
            of |= {"Python": home["python"], "managed by mbench": said(home["managed"]),
                   "digest": said(home["digest"])[:DIGEST]}  # fmt: skip
            items = [f"{package} {said(v)}" for package, v in sorted(home["packages"].items())]
            if items:
                title = f"All {len(items)} packages of {name}"
                packages.append(Figure(title=title, items=items, shut=True))
    if not facts:
        return []
    whats = list(dict.fromkeys(what for of in facts.values() for what in of))
    rows = [[what, *(of.get(what, "") for of in facts.values())] for what in whats]
    table = Grid("Environments", ("what", *facts), rows)
    return [Figure(title="Environments", table=table), *packages]


def reproduce(document: Document) -> Section:
    """The command, without the folders of whoever ran it."""
    started, finished = (
        str(document[end] or "interruption")[:16].replace("T", " ")
        for end in ("started", "finished")
    )
    words, own = portable(list(map(str, document["command"])))
    lead = "Frameworks that ran in a Python of the author's are written without its path."
    about = (f"mbench {document['mbench']}", f"run {document['run']}",
             f"{started} to {finished} UTC")  # fmt: skip
    return Section("reproduce", "How to repeat it", lead if own else "", about=about,
                   code=[shlex.quote(word) for word in words])  # fmt: skip


def portable(words: list[str]) -> tuple[list[str], bool]:
    """A command without where it wrote and the paths of Pythons, and whether it had such paths."""
    kept, skip = [], False
    for word in words:
        if not skip and word.partition("=")[0] not in WRITES:
            kept.append(word)
        skip = word in WRITES and not skip
    bare = [PYTHON.sub(r"\1\2", word) for word in kept]
    return bare, bare != kept
