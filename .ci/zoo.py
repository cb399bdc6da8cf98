"""Proves models in float64, each in every framework: as many at a time as there are cores.

Cells that the zoo's page already has for today's code are left out, unless --all is given.

Each proof has its own core and one thread, since two threads seldom take half the time of one.
Proofs that crashed or ran out of memory beside others are repeated in the end, one at a time.
Proofs are remembered, so the same command continues where it was interrupted.
`python docs/zoo.py` makes the zoo's page from what this program writes.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from digest import code_of, facts_of

from mbench.cli.builtin import mbench_workloads
from mbench.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Proof = dict[str, Any]
    Cell = tuple[str, str]
    """Model and framework."""
    Done = tuple[Cell, tuple[Proof, float]]
    """A cell, its proof, and the seconds that this took."""

RECORD = Path(__file__).parents[1] / "docs" / "zoo.json"


def main() -> int:
    """0 if every cell is proven, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("frameworks", nargs="+", help="each in any form that mbench verify takes")
    parser.add_argument("--models", default=",".join(mbench_workloads()))
    parser.add_argument("--output", type=Path, default=Path("zoo.json"))
    parser.add_argument("--all", action="store_true", help="those of today's code too")
    arguments = parser.parse_args()
    models = arguments.models.split(",")
    known = set() if arguments.all else current()
    cells = [
        (model, framework)
        for model in models
        for framework in arguments.frameworks
        if (model, framework.partition("@")[0]) not in known
    ]
    proofs: dict[Cell, Proof] = {}
    for cell, (proof, seconds) in chain(at_once(cells), alone(cells, proofs)):
        proofs[cell] = proof
        said = f"{proof['framework']} {proof['model']}: {told(proof)} in {seconds:.0f} s"
        print(f"[{len(proofs)} of {len(cells)}] {said}", flush=True)
        ordered = [proofs[cell] for cell in cells if cell in proofs]
        text = json.dumps({"schema": 1, "proofs": ordered}, indent=2)
        write_whole(arguments.output, f"{text}\n".encode())
    summarize(list(proofs.values()))
    return 0 if all(proof["outcome"] == "ok" for proof in proofs.values()) else 1


def current() -> set[Cell]:
    """The cells of the page that are proven with today's code."""
    proofs = json.loads(RECORD.read_text(encoding="utf-8"))["proofs"]
    return {
        (proof["model"], proof["framework"])
        for proof in proofs
        if proof["outcome"] == "ok" and proof["code"] == code_of(proof["framework"], proof["model"])
    }


def at_once(cells: Sequence[Cell]) -> Iterator[Done]:
    """Prove as many cells at a time as there are cores."""
    with open_pool() as pool:
        try:
            running = {pool.submit(prove, *cell): cell for cell in cells}
            for done in as_completed(running):
                yield running[done], done.result()
        except BaseException:  # also Ctrl-C: cells that wait for a core are not begun
            pool.shutdown(cancel_futures=True)
            raise


def alone(cells: Sequence[Cell], proofs: Mapping[Cell, Proof]) -> Iterator[Done]:
    """Repeat cells that crashed or ran out of memory, one after the other, with all memory."""
    for cell in cells:
        if proofs[cell]["outcome"] in ("oom", "crashed"):
            yield cell, prove(*cell)


def open_pool() -> ThreadPoolExecutor:
    """A thread per core, pinned to it with all processes that it starts."""
    cores: queue.SimpleQueue[int] = queue.SimpleQueue()
    for core in sorted(os.sched_getaffinity(0)):
        cores.put(core)
    return ThreadPoolExecutor(
        cores.qsize(), initializer=lambda: os.sched_setaffinity(0, {cores.get()})
    )


def prove(model: str, framework: str) -> tuple[Proof, float]:
    """One cell of the zoo as `mbench verify` writes it, and the seconds that it took."""
    begin = time.monotonic()
    code, facts = code_of(framework.partition("@")[0], model), facts_of(model)
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "proof.json")
        ended = subprocess.run(
            [sys.executable, "-m", "mbench", "verify", "--frameworks", framework, "--models", model,
             "--precision", "fp64", "--threads", "1", "--timeout", "7200", "--format", "json",
             "--output", str(output)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if ended.returncode not in (0, 1) or not output.exists():
            raise SystemExit(f"{framework} {model}: {ended.stderr.strip()}")
        (proof,) = json.loads(output.read_text(encoding="utf-8"))["proofs"]
    # The page's columns are frameworks, wherever their Python is.
    named = {**proof, "framework": framework.partition("@")[0], "code": code, "facts": facts}
    return named, time.monotonic() - begin


def told(proof: Proof) -> str:
    if proof["outcome"] != "ok":
        return f"{proof['outcome']}: {proof['reason']}"
    return "proven before" if proof["proof"]["remembered"] else "proven"


def summarize(proofs: list[Proof]) -> None:
    """A line for each framework, and one for each cell that is not proven."""
    if not proofs:
        print("every cell is proven with today's code")
    for framework in dict.fromkeys(proof["framework"] for proof in proofs):
        its = [proof for proof in proofs if proof["framework"] == framework]
        proven = [proof for proof in its if proof["outcome"] == "ok"]
        print(f"{framework}: {len(proven)} of {len(its)} models proven")
        for proof in its:
            if proof["outcome"] != "ok":
                print(f"  {proof['model']}: {told(proof)}")


if __name__ == "__main__":
    sys.exit(main())
