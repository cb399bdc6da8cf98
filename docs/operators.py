r"""Writes operators.md, the table of operators that are proven, from the JSON of a verification.

Usage: mbench verify --frameworks torch,tf,mxnet,paddle,jax --models OPERATORS --precision fp64 \
           --mode train,inference --format json --output operators.json
       python docs/operators.py operators.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from zoo import cell, title

__all__ = ["main", "page"]

PAGE = Path(__file__).parent / "operators.md"

HEAD = """\
# Operators that are proven

Every kind of [operator](explain.md#operators) in every framework that has it, and how far its work
lies from the definition. This page is written by `python docs/operators.py` from the JSON of
`mbench verify` in float64, with `--mode train,inference`, of the operators named below.

A cell holds the worst relative error: of outputs, and in training of the gradients by all operands,
for two sets of parameters and two batches (gate 1e-9).
"""


def page(document: dict[str, Any]) -> str:
    """The page of a verification's JSON document; a row per operator and mode."""
    proofs = document["proofs"]
    frameworks = list(dict.fromkeys(proof["framework"] for proof in proofs))
    titles = [title(name, proofs) for name in frameworks]
    notes: list[str] = []
    rows = []
    for model, mode in dict.fromkeys((proof["model"], proof["mode"]) for proof in proofs):
        own = [proof for proof in proofs if (proof["model"], proof["mode"]) == (model, mode)]
        found = {proof["framework"]: proof for proof in own}
        cells = [cell(found[name], notes) if name in found else "-" for name in frameworks]
        rows.append(" | ".join([f"`{model}`", mode, *cells]))
    proven = sum(proof["outcome"] == "ok" for proof in proofs)
    return "\n".join(
        [
            HEAD,
            f"{proven} of {len(proofs)} cells are proven.",
            "",
            " | ".join(["Operator", "Mode", *titles]),
            "|".join(["---"] * (len(titles) + 2)),
            *rows,
            "",
            *(f"{number}. {note}" for number, note in enumerate(notes, start=1)),
            "",
        ]
    )


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    proofs = []
    for file in sys.argv[1:]:
        proofs += json.loads(Path(file).read_text(encoding="utf-8"))["proofs"]
    PAGE.write_text(page({"proofs": proofs}), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
