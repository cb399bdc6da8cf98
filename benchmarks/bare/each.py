"""Starts ranks of a framework that has no launcher: one by one, with each one's place in variables.

Usage: python -m bare.each FOLDER RANKS SCRIPT ARGUMENT...

The variables are those of the frameworks' documentation: TF_CONFIG, and DMLC_* with MXNet's
scheduler and servers. JAX has none, so its ranks get those of torchrun.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys


def free_address() -> tuple[str, int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()


def tensorflow(ranks: int) -> list[dict[str, str]]:
    workers = ["{}:{}".format(*free_address()) for _ in range(ranks)]
    return [
        {"TF_CONFIG": json.dumps({"cluster": {"worker": workers},
                                  "task": {"type": "worker", "index": rank}})}
        for rank in range(ranks)
    ]  # fmt: skip


def jax(ranks: int) -> list[dict[str, str]]:
    address, port = free_address()
    common = {"MASTER_ADDR": address, "MASTER_PORT": str(port), "WORLD_SIZE": str(ranks)}
    return [{**common, "RANK": str(rank)} for rank in range(ranks)]


def mxnet(ranks: int) -> list[dict[str, str]]:
    """Workers first, then what they need: the scheduler, and as many servers as workers."""
    address, port = free_address()
    common = {
        "DMLC_PS_ROOT_URI": address, "DMLC_PS_ROOT_PORT": str(port), "DMLC_NODE_HOST": address,
        "DMLC_NUM_WORKER": str(ranks), "DMLC_NUM_SERVER": str(ranks),
    }  # fmt: skip
    roles = ["worker"] * ranks + ["scheduler"] + ["server"] * ranks
    return [{**common, "DMLC_ROLE": role} for role in roles]


PLACES = {"tensorflow": tensorflow, "jax": jax, "mxnet": mxnet}


def main(folder: str, ranks: str, *script: str) -> None:
    started = []
    for variables in PLACES[folder](int(ranks)):
        serves = variables.get("DMLC_ROLE", "worker") != "worker"
        words = ["-c", "import mxnet"] if serves else script
        one = {"OMP_NUM_THREADS": "1"} if serves else {}
        environment = {**os.environ, **variables, **one}
        started.append(subprocess.Popen([sys.executable, *words], env=environment))
    for process in started:
        process.wait()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    main(*sys.argv[1:])
