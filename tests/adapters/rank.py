"""One of several processes that train together, as tests/adapters/ranks.py starts it.

`rank.py RUNTIME RANK FOLDER`: FOLDER/job.json has the peers and the cases, each with its work,
number of steps and batch. The results of a case go to FOLDER/CASE-RANK.npz.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
from ranks import observed

from mbench.contract.case import Case, ProofWork
from mbench.contract.compat import zipped
from mbench.contract.rank import RankInfo
from mbench.contract.reading import read_fields

PATIENCE_SECONDS = 60.0


def main(runtime: str, rank: int, folder: Path) -> None:
    job = json.loads((folder / "job.json").read_text())
    peers = job["peers"]
    place = RankInfo(
        rank=rank, ranks=len(peers), local_rank=rank, local_ranks=len(peers), peers=peers
    )
    module, _, name = runtime.partition(":")
    made = getattr(importlib.import_module(module), name)(device="cpu", threads=1, place=place)
    jobs = zipped(job["cases"], job["works"], job["steps"], job["batches"])
    for at, (fields, work, steps, batch) in enumerate(jobs):
        proof = read_fields(ProofWork, work, where="work")
        found = observed(made, Case(**fields), proof, steps=steps, batch=batch)
        np.savez(folder / f"{at}-{rank}.npz", **found)
    wait_for_all(folder, rank, len(peers))


def wait_for_all(folder: Path, rank: int, ranks: int) -> None:
    """Wait until all ranks are done: what serves the others, as in MXNet, ends with its rank."""
    (folder / f"{rank}.done").touch()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline and len(list(folder.glob("*.done"))) < ranks:
        time.sleep(0.02)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # as workers leave: frameworks may hang or abort in their exit handlers
