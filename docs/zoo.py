"""Writes a table of what is proven equal from the JSON of verifications: of models, or operators.

Usage: mbench verify --frameworks torch,tf,mxnet,paddle --models zoo --format json --output zoo.json
       python docs/zoo.py zoo.json
       python docs/zoo.py --operators operators.json

Of several files the later ones replace cells of those before. A table of operators is written to
operators.md, with what it is made of in operators.json beside it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

__all__ = ["main", "page"]

PAGE = Path(__file__).parent / "zoo.md"
EXACT = ("outputs", "loss", "updates", "optimizer")

HEAD = """\
# The zoo

Every model of mbench in every framework, and how far its work lies from the reference. This page is
written by `python docs/zoo.py` from the JSON of

```console
$ mbench verify --frameworks {frameworks} --models zoo --precision {precision} {output}
```

A cell holds the worst relative error in float64: of evaluation outputs, of losses, and of the
change of every tensor by gradient descent and by the model's own optimizer (gate 1e-9). Where a
second error follows, it is the worst of the losses as timed, in that precision.
[Equal work](equal-work.md) says what is compared, by which gates, and what this does not show.
"""
OUTPUT = "--format json --output zoo.json"


def page(document: dict[str, Any]) -> str:
    """The page of a verification's JSON document; a row per model, a column per framework."""
    proofs = document["proofs"]
    frameworks = list(dict.fromkeys(proof["framework"] for proof in proofs))
    precision = ",".join(dict.fromkeys(proof["precision"] for proof in proofs))
    titles = [title(name, proofs) for name in frameworks]
    notes: list[str] = []
    rows = []
    for model in dict.fromkeys(proof["model"] for proof in proofs):
        found = {proof["framework"]: proof for proof in proofs if proof["model"] == model}
        cells = [cell(found[name], notes) if name in found else "-" for name in frameworks]
        rows.append(" | ".join([f"`{model}`", *cells]))
    proven = sum(proof["outcome"] == "ok" for proof in proofs)
    return "\n".join(
        [
            HEAD.format(frameworks=",".join(frameworks), precision=precision, output=OUTPUT),
            f"{proven} of {len(proofs)} cells are proven.",
            "",
            " | ".join(["Model", *titles]),
            "|".join(["---"] * (len(titles) + 1)),
            *rows,
            "",
            *(f"{number}. {note}" for number, note in enumerate(notes, start=1)),
            "",
        ]
    )


def title(framework: str, proofs: list[dict[str, Any]]) -> str:
    """The framework and its version, if any proof tells it."""
    made = [p["proof"] for p in proofs if p["framework"] == framework and p["proof"]]
    versions = [proof["version"] for proof in made if proof["version"]]
    return f"{framework} {versions[0]}" if versions else framework


def cell(proof: dict[str, Any], notes: list[str]) -> str:
    """Both errors, or the outcome; numbers in brackets lead to `notes`, which grow."""
    found = list(proof["proof"]["notes"]) if proof["proof"] else []
    if proof["outcome"] == "ok":
        text = " / ".join(filter(None, (worst(proof, EXACT), worst(proof, ("timed",)))))
    else:
        text = f"**{proof['outcome']}**"
        found.append(proof["reason"])
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


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    cells = {}
    for file in sys.argv[1:]:
        document = json.loads(Path(file).read_text(encoding="utf-8"))
        cells |= {(proof["model"], proof["framework"]): proof for proof in document["proofs"]}
    PAGE.write_text(page({"proofs": list(cells.values())}), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
