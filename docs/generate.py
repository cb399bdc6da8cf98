"""Writes the pages that follow from the code; with --check, fails if they have drifted.

Usage: python docs/generate.py [--check]

These are cli.md, the help text of every command, run-file.md, the fields of every event, and the
tables of results-schema.md, the fields of a summary.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import sys
import types
from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin, get_type_hints

import click

from mbench.cli.grouped import WHOLE
from mbench.cli.main import group
from mbench.contract.case import Case
from mbench.contract.reading import Quantity
from mbench.explain.plan import KINDS as EXPLAIN
from mbench.plugins.manager import Plugins
from mbench.results.case_summary import CaseSummary
from mbench.results.events import KNOWN
from mbench.results.machine import Telemetry
from mbench.results.pair_summary import PairSummary
from mbench.results.proof import ProofRecord
from mbench.results.summary import Summary
from mbench.spec.adaptive import Adaptive
from mbench.spec.arm import Arm
from mbench.spec.fixed_steps import Counted
from mbench.spec.protocol import Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["contexts", "main", "pages"]

FOLDER = Path(__file__).parent
WIDTH = 90

COMMANDS = """\
# Commands

This page is generated from the commands themselves by `python docs/generate.py`. Commands that
other plugins add are not on it.

`--help` of a command with many options shows the usual ones, `--help-all` those on this page. Every
option that takes a list takes it with commas: `--models resnet50,bert-base`. In models' names case
and separators do not matter, and times may have units: `--models ResNet50 --budget 5m`. Reports go
to stdout, everything else to stderr. [Getting started](getting-started.md#exit-codes) describes the
exit codes. The options are also the keywords of the [Python API](python.md).
"""


EVENTS_OF_A_RUN = """\
# The run's file

This page is generated from the events themselves by `python docs/generate.py`.

A run's folder holds `run.jsonl`: one event a line, as a JSON object, appended as things happen. Its
`event` says which. Every value is checked on writing by the rules of this page, by which it is read
too. Fields and events that a reader does not know are additions of the same schema, to be passed
over. Times are of the machine's monotonic clock.

In the tables, `[]` stands for any element of an array, and "map" for an object whose keys are
names. Of a sample of the machine, what is not known is absent.
"""


def contexts() -> Iterator[click.Context]:
    """A context for `mbench` itself, then for each command and its subcommands, in their order."""
    root = click.Context(
        group,
        info_name="mbench",
        obj=Plugins(external=False),
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        **group.context_settings,
    )
    root.meta[WHOLE] = True
    yield from descend(root)


def descend(context: click.Context) -> Iterator[click.Context]:
    yield context
    command = context.command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from descend(click.Context(found, info_name=name, parent=context))


def commands() -> str:
    """The page of commands."""
    parts = [COMMANDS]
    for context in contexts():
        title = f"## `{context.command_path}`"
        parts.append(f"{title}\n\n```text\n{context.get_help().rstrip()}\n```\n")
    return "\n".join(parts)


def events() -> str:
    """The page of events."""
    parts = [EVENTS_OF_A_RUN]
    for name, kind in {**KNOWN, **{kind.kind: kind for kind in EXPLAIN}}.items():
        parts.append(
            f"## `{name}`\n\n{inspect.getdoc(kind)}\n\n"
            "| Field | Type | Unit | Meaning |\n|---|---|---|---|\n" + "\n".join(rows(kind)) + "\n"
        )
    return "\n".join(parts)


def results() -> str:
    """The page of a run's results: its tables are generated, and the text between them is kept."""
    text = (FOLDER / "results-schema.md").read_text(encoding="utf-8")
    own = {field.name for field in fields(Protocol)}
    run = [*rows(Summary, less=("cases[]", "comparisons[]"))]
    at = next(at for at, row in enumerate(run) if row.startswith("| `protocol` |"))
    tables = {
        "run": [*run[: at + 1], *rows(Protocol, "protocol."), *run[at + 1 :]],
        "adaptive": [*rows(Adaptive, "protocol.", names=names_of(Adaptive) - own)],
        "published": [*rows(Counted, "protocol.", names=names_of(Counted) - own)],
        "cases": [*rows(CaseSummary, "cases[].", less=APART)],
        "telemetry": [*rows(Telemetry, "cases[].telemetry.")],
        "proof": [*rows(ProofRecord, "cases[].equal_work.")],
        "comparisons": [*rows(PairSummary, "comparisons[].")],
    }
    for name, found in tables.items():
        begin, end = f"<!-- generated: {name} -->\n", "\n<!-- end -->"
        before, _, after = text.partition(begin)
        table = "| Field | Type | Unit | Meaning |\n|---|---|---|---|\n" + "\n".join(found)
        text = before + begin + table + end + after.partition(end)[2]
    return text


APART = ("cases[].telemetry", "cases[].equal_work", "cases[].nodes[].system")
"""Records within a case that are described elsewhere on the page."""


def names_of(kind: type) -> set[str]:
    return {field.name for field in fields(kind)}


def rows(
    kind: type,
    within: str = "",
    *,
    less: Collection[str] = (),
    names: Collection[str] | None = None,
    unit: str = "",
) -> Iterator[str]:
    """Yields a row for each field of a record, or for those in `names`, and for each field of the
    records in it, except those at the paths in `less`. `unit` is for numbers that have none.
    """
    hints, said = get_type_hints(kind, include_extras=True), meanings(kind)
    for field in fields(kind):
        if "internal" in field.metadata or (names is not None and field.name not in names):
            continue
        path = f"{within}{field.name}"
        if "asked" in field.metadata:  # an option, whose help is its meaning
            said.setdefault(field.name, field.metadata["asked"].says)
        assert field.name in said, f"{kind.__name__}.{field.name} has no meaning"
        flat = field.metadata.get("flat")
        if flat == "axis":
            yield f"| `{within}<axis>` | | | {said[field.name]} |"
            continue
        type_, own, inner = described(hints[field.name])
        about = f"{own or unit * ('number' in type_)} | {said[field.name]} |"
        if flat:
            kind_ = type_.removeprefix("map of ")
            yield from (f"| `{within}{name}` | {kind_} | {about}" for name in flat)
            continue
        yield f"| `{path}` | {type_} | {about}"
        ending = {"array": "[]", "map": ".<name>"}.get(type_.partition(" ")[0], "")
        if inner and f"{path}{ending}" not in less:
            yield from rows(inner, f"{path}{ending}.", less=less, unit=own)


def meanings(kind: type) -> dict[str, str]:
    """The string beneath each field of a record, in its source and in those of its bases."""
    found = {}
    for base in reversed(kind.__mro__):
        if is_dataclass(base):
            (definition,) = ast.parse(inspect.getsource(base)).body
            assert isinstance(definition, ast.ClassDef)
            for field, below in pairwise(definition.body):
                if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                    assert isinstance(below.value, ast.Constant)
                    said = " ".join(below.value.value.split())
                    found[ast.unparse(field.target)] = said.replace("None", "null")
    return found


PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null",
         Arm: "string", Case: "object", Protocol: "object", Any: "anything"}  # fmt: skip


def described(hint: Any) -> tuple[str, str, type | None]:
    """An annotation as a type of JSON, its unit, and the record that is in it, if one is."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in PLAIN:
        return PLAIN[hint], "", None
    if origin is Annotated:
        type_, _, inner = described(arguments[0])
        return type_, arguments[1].unit if isinstance(arguments[1], Quantity) else "", inner
    if is_dataclass(hint):
        return "object", "", hint
    parts = [described(argument) for argument in arguments if argument is not ...]
    units = ", ".join(dict.fromkeys(unit for _, unit, _ in parts if unit))
    inner = next((record for _, _, record in parts if record), None)
    types_ = [type_ for type_, _, _ in parts]
    if origin in (Union, types.UnionType):
        return " or ".join(types_), units, inner
    return f"{'map' if origin in (dict, Mapping) else 'array'} of {types_[-1]}", units, inner


def pages() -> dict[str, str]:
    """All generated pages by name."""
    return {"cli.md": commands(), "run-file.md": events(), "results-schema.md": results()}


def main() -> int:
    drifted = False
    for name, new in pages().items():
        path = FOLDER / name
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if sys.argv[1:] != ["--check"]:
            path.write_text(new, encoding="utf-8")
        elif new != old:
            drifted = True
            lines = difflib.unified_diff(
                old.splitlines(), new.splitlines(), f"docs/{name}", "the code", lineterm=""
            )
            print("\n".join(lines))
            print(f"docs/{name} has drifted: run python docs/generate.py", file=sys.stderr)
    return int(drifted)


if __name__ == "__main__":
    sys.exit(main())
