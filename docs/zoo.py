"""Writes a table of what is proven equal from the JSON of verifications: of models, or operators.

Usage: tox -e zoo
       python docs/zoo.py docs/zoo.json zoo.json
       python docs/zoo.py docs/zoo.json
       python docs/zoo.py --operators operators.json

Later files replace cells of earlier ones: this is how a framework is added to a page.
Models that were proven with other code than today's are marked as such, see .ci/digest.py.
The table of models is written to zoo.md, that of operators to operators.md, each with what it is
made of in a JSON file beside it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / ".ci"))
from digest import code_of

from mbench.files import write_whole

__all__ = ["main", "page"]

HERE = Path(__file__).parent
PAGE = HERE / "zoo.md"
OPERATORS = HERE / "operators.md"
EXACT = ("outputs", "loss", "updates", "optimizer", "exact")
"""Checks in float64; the last is the worst of all, as the zoo's record has it."""
SAID = ("model", "mode", "framework", "precision", "outcome", "reason", "facts", "code", "current")
"""What a record keeps of a cell, beside what its proof found."""

HEAD = """\
# The zoo

Every model of mbench in every framework, and how far its work lies from the reference. This page is
written by `python docs/zoo.py` from the JSON of

```console
$ {command}
```

A cell holds the worst relative error in float64: of evaluation outputs, of losses, and of the
change of every tensor by gradient descent and by the model's own optimizer (gate 1e-9). Where a
second error follows, it is the worst of the losses as timed, in that precision.
[Equal work](equal-work.md) says what is compared, by which gates, and what this does not show.

A cell in italics was proven before its code last changed: the model, its reference file or the
framework's adapter. `tox -e zoo` proves those again.
"""
OPERATORS_HEAD = """\
# Operators, proven

Every kind of [operator](explain.md#operators) in every framework, one small shape of each, and how
far its outputs, and in training its gradients, lie from the definition. This page is written by
`python docs/zoo.py --operators` from the JSON of

```console
$ {command}
```

A cell holds the worst relative error in float64, over two sets of parameters and two batches (gate
1e-9); of an update that of what three steps have changed. It is 0 where all sums are exact: numbers
are drawn with 24 bits. Each framework runs under its default compiler. Another size is proven when
it is measured.
"""


def page(document: dict[str, Any], head: str = HEAD) -> str:
    """The page of a verification's JSON document; a row per model, and per mode where there are
    several, and a column per framework.
    """
    proofs = document["proofs"]
    frameworks, precisions, modes, models = (
        list(dict.fromkeys(proof[what] for proof in proofs))
        for what in ("framework", "precision", "mode", "model")
    )
    titles = [title(name, proofs) for name in frameworks]
    notes: list[str] = []
    rows = []
    cells = {(p["model"], p["mode"], p["framework"]): p for p in proofs}
    for model, mode in dict.fromkeys((proof["model"], proof["mode"]) for proof in proofs):
        found = [cells.get((model, mode, name)) for name in frameworks]
        told = [cell(one, notes) if one else "-" for one in found]
        rows.append(" | ".join([f"`{model}`", *([mode] if len(modes) > 1 else []), *told]))
    columns = ["Model", *(["Mode"] if len(modes) > 1 else []), *titles]
    proven = sum(proof["outcome"] == "ok" for proof in proofs)
    zoo = head is HEAD
    today = sum(proof["outcome"] == "ok" and not is_earlier(proof) for proof in proofs)
    since = f", {today} of them with today's code"
    words = ["mbench verify --frameworks", ",".join(frameworks)]
    words += ["--models", "zoo" if zoo else ",".join(models), "--precision", ",".join(precisions)]
    words += [] if zoo else ["--mode", ",".join(modes)]
    words += ["--format json --output", "zoo.json" if zoo else "operators.json"]
    return "\n".join(
        [
            head.format(command=" ".join(words)),
            f"{proven} of {len(proofs)} cells are proven{since if zoo else ''}.",
            "",
            " | ".join(columns),
            "|".join(["---"] * len(columns)),
            *rows,
            "",
            *(f"{number}. {note}" for number, note in enumerate(notes, start=1)),
            "",
        ]
    )


def title(framework: str, proofs: list[dict[str, Any]]) -> str:
    """The framework and its version, if any proof reports it."""
    made = [p["proof"] for p in proofs if p["framework"] == framework and p["proof"]]
    versions = [proof["version"] for proof in made if proof["version"]]
    return f"{framework} {versions[0]}" if versions else framework


def is_earlier(proof: dict[str, Any]) -> bool:
    """Whether the code that was proven has changed since."""
    return proof.get("current") is False and proof["outcome"] == "ok"


def cell(proof: dict[str, Any], notes: list[str]) -> str:
    """Both errors, or the outcome; numbers in brackets lead to `notes`, which grow."""
    found = list(proof["proof"]["notes"]) if proof["proof"] else []
    if proof["outcome"] == "ok":
        text = " / ".join(filter(None, (worst(proof, EXACT), worst(proof, ("timed",)))))
    else:
        text = f"**{proof['outcome']}**"
        found.append(proof["reason"])
    if is_earlier(proof):
        text = f"*{text}*"
    for note in found:
        if note not in notes:
            notes.append(note)
        text += f" [{notes.index(note) + 1}]"
    return text


def worst(proof: dict[str, Any], checks: tuple[str, ...]) -> str:
    """The largest error of `checks`; empty where there is none."""
    errors = [f["error"] for f in proof["proof"]["findings"] if f["check"] in checks]
    known = [error for error in errors if error is not None]
    return f"{max(known):.0e}" if known else ""


def brief(proof: dict[str, Any]) -> dict[str, Any]:
    """The record of a model reduced to the worst errors, which are all that its page shows."""
    if not proof["proof"]:
        return proof
    told = (("exact", worst(proof, EXACT)), ("timed", worst(proof, ("timed",))))
    findings = [{"check": check, "error": float(error)} for check, error in told if error]
    return {**proof, "proof": {**proof["proof"], "findings": findings}}


def dated(proof: dict[str, Any]) -> dict[str, Any]:
    """The record of a model with whether it is of today's code."""
    facts, code = proof.get("facts", ""), proof.get("code", "")
    now = code_of(proof["framework"], proof["model"])
    return {**proof, "facts": facts, "code": code, "current": bool(code) and code == now}


def record(proof: dict[str, Any]) -> dict[str, Any]:
    """What the page needs of a proof, and nothing of the machine: frameworks without paths."""
    made = proof["proof"]
    kept = made and {
        "version": made["version"],
        "notes": made["notes"],
        "findings": [{"check": f["check"], "error": f["error"]} for f in made["findings"]],
    }
    said = {name: proof[name] for name in SAID if name in proof}
    return {**said, "framework": proof["framework"].partition("@")[0], "proof": kept}


def main() -> int:
    files = [argument for argument in sys.argv[1:] if argument != "--operators"]
    if not files:
        print(__doc__, file=sys.stderr)
        return 2
    operators = len(files) < len(sys.argv) - 1
    cells = {}
    for file in files:
        document = json.loads(Path(file).read_text(encoding="utf-8"))
        proofs = [record(proof) for proof in document["proofs"]]
        cells |= {(one["model"], one["mode"], one["framework"]): one for one in proofs}
    found = list(cells.values()) if operators else [dated(brief(one)) for one in cells.values()]
    path, head = (OPERATORS, OPERATORS_HEAD) if operators else (PAGE, HEAD)
    lines = ",\n".join(json.dumps(one) for one in found)
    write_whole(path.with_suffix(".json"), f'{{"proofs": [\n{lines}\n]}}\n'.encode())
    write_whole(path, page({"proofs": found}, head).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
